"""Research: how Spanseek's encoders are trained, and how it is measured. The product never imports it."""
