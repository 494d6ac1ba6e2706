"""What a running server takes from changed settings when it is told to look at them again (SIGHUP)."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any, Final

from ..errors import SetupError
from ..settings import SETTINGS, Settings, revealed
from . import logging_setup

logger = logging.getLogger(__name__)

AT_ONCE: Final = frozenset(
    (
        *("logging.level", "logging.file", "logging.json"),
        *("security.token", "security.allowed_hosts", "security.rate_limit"),
    )
)
"""Settings that take effect without a restart; each new request goes by them, open streams stay."""


def reload(settings: Settings, app: Any | None, *, begun: Settings) -> Settings:
    """Read the settings again and put into force what can be; returns those to compare with next time.

    Wrong settings change nothing: the server goes on with what it has, and the log says why. `app` is the web
    application, None where only the socket is served. What waits for a restart differs from those that the server
    has `begun` with: it is told each time, and no longer once it is taken back.
    """
    try:
        now = settings.again()
        if app is not None:
            now.check_listening()
        changed = {key for key in SETTINGS if settings.value(key) != now.value(key)}
        waiting = {key for key in SETTINGS if begun.value(key) != now.value(key)} - AT_ONCE
        logging_setup.configure(now)
    except SetupError as error:
        logger.error("The settings stay as they were: %s", error)
        return settings
    if app is not None and changed & AT_ONCE:
        security = now.security
        app.state.rules = replace(
            app.state.rules,
            token=revealed(security.token),
            hosts=(begun.mcp.host, *security.allowed_hosts),
            rate_limit=security.rate_limit or None,
        )
        app.state.guard.follow(app.state.rules)
    if taken := sorted(changed & AT_ONCE):
        logger.info("Taken over from the settings: %s", ", ".join(taken))
    if waiting:
        logger.warning("Changed, and in force after a restart: %s", ", ".join(sorted(waiting)))
    elif changed - AT_ONCE:
        logger.info("Taken back, no restart is needed: %s", ", ".join(sorted(changed - AT_ONCE)))
    return now
