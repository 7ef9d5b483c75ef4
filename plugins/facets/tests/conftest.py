"""The fixtures of the core's tests."""

from tests.e2e.conftest import *  # noqa: F403
from tests.integration.conftest import *  # noqa: F403
from tests.integration.http.conftest import *  # noqa: F403
