"""A function for `llm --functions`."""


def get_weather(city: str) -> str:
    """Return the weather of a city."""
    return f"18 degrees in {city}"
