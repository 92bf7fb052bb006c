"""The pages: a reviewer's place to work, and what a team looks at. They mount on the API's application.

Everything is rendered here from templates, with a little script and one style sheet from :mod:`static`; nothing is
fetched from elsewhere, so the pages work offline and under a strict Content-Security-Policy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastapi import FastAPI


def install(app: FastAPI) -> None:
    """Add the pages to an application whose ``state.service`` is set."""
    from likewise.service.accounts.rates import Rates
    from likewise.service.jobs.runner import Jobs
    from likewise.service.pages import (
        administration,
        beginning,
        login,
        mine,
        notices,
        overview,
        plan,
        records,
        review,
        team,
    )
    from likewise.service.pages.rendering import install_not_found
    from likewise.service.projections.alarms import Webhook
    from likewise.service.projections.follower import Follower

    service = app.state.service
    app.state.login_rates = Rates()
    app.state.follower = Follower(service.engine)
    app.state.jobs = Jobs(service.store)
    service.each_tick.append(app.state.follower)
    if service.configuration.webhook:
        service.each_tick.append(Webhook(service.engine, service.configuration.webhook))
    service.before_stop.append(app.state.jobs.stop)
    for part in (login, beginning, review, mine, team, overview, plan, records, notices, administration):
        app.include_router(part.pages)
    install_not_found(app)
