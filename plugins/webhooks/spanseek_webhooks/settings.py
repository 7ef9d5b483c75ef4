"""Settings of webhooks."""

from pydantic import Field, field_validator

from app.settings import Hours, PluginSettings, listed
from spanseek_webhooks.addresses import AddressRules


class WebhookSettings(PluginSettings):
    """The settings of webhooks; ``docs/settings.md`` lists them with those of the core."""

    webhook_networks: str = Field(
        "",
        description="Private networks, separated by commas, that webhooks may reach, also without TLS, such as "
        "10.1.0.0/16; all others must be public addresses with TLS.",
    )
    webhook_timeout_s: float = Field(10.0, gt=0, le=300, description="Seconds in which a receiver must answer.")
    webhook_hours: Hours = Field(
        24.0, description="Hours after which a delivery that goes on failing becomes a dead letter."
    )
    webhook_workers: int = Field(4, gt=0, description="Threads that send, each for one webhook at a time.")

    @field_validator("webhook_networks")
    @classmethod
    def _are_networks(cls, value: str) -> str:
        AddressRules.allowing(listed(value))
        return value

    @property
    def rules(self) -> AddressRules:
        """The addresses that webhooks may reach."""
        return AddressRules.allowing(listed(self.webhook_networks))
