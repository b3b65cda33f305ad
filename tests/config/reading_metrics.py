"""Reads the metrics as a monitoring system does."""

from typing import Any

from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

TOKEN = "a-token-of-at-least-thirty-two-characters"


def scrape(client: Client, **headers: str) -> Any:
    """The response to a monitoring system."""
    return client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}", **headers})


def numbers(client: Client) -> dict[tuple[str, ...], float]:
    """Every sample by its name and the values of its labels, in the order of the labels' names."""
    text = scrape(client).content.decode()
    families = text_string_to_metric_families(text)
    return {
        (s.name, *(value for _, value in sorted(s.labels.items()))): s.value
        for family in families
        for s in family.samples
    }
