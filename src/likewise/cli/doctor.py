"""``likewise doctor``: a check-up of a service, while it runs or not."""

from __future__ import annotations

from typing import Annotated

import typer

from likewise.cli.output import AsJson, console, print_json
from likewise.cli.service import Config, Database, service_part

EXAMPLES = "Example: `likewise doctor --database loans.db`"


def doctor(
    database: Database = None,
    config: Config = None,
    drill: Annotated[bool, typer.Option(help="Take a backup and restore it, in a folder that is deleted.")] = True,
    as_json: AsJson = False,
) -> None:
    """Check a service's key, clock, disk and checkpoints, and that a backup can be restored.

    Exits with 1 if something is not well.
    """
    with service_part():
        from likewise.service.configuration import configured
        from likewise.service.run.checkup import check_up
    findings = check_up(configured(config, database=database), drill=drill)
    if as_json:
        print_json({finding.check: {"well": finding.well, "sentence": finding.sentence} for finding in findings})
    else:
        for finding in findings:
            mark = "well" if finding.well else "NOT WELL"
            console.print(f"{finding.check}: {mark}. {finding.sentence}", markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(0 if all(finding.well for finding in findings) else 1)
