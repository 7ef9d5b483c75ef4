"""``spanseek cluster``: the actors of the engine ray, and taking nodes out of service."""

from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table

from app.cli.console import JsonOption, out, print_json
from app.settings import Settings
from models.errors import InvalidInput
from spanseek_ray.settings import LOCAL, ClusterOptions, RaySettings

cluster_cli = typer.Typer(
    help="The actors of a Ray cluster, which read segments.", no_args_is_help=True, rich_help_panel="Operation"
)


@cluster_cli.command("status")
def cluster_status(as_json: JsonOption = False) -> None:
    """Show the actors of the cluster, and what each holds."""
    options = _options()
    from spanseek_ray.administration import status

    actors = status(options)
    if as_json:
        print_json([asdict(each) for each in actors])
        return
    table = Table("actor", "node", "state", "segments", "units", "answered", "idle")
    for each in actors:
        idle = "" if each.idle_s is None else f"{each.idle_s:.0f} s"
        figures = (f"{figure:,}" for figure in (each.segments, each.units, each.answered))
        table.add_row(each.name, each.node, each.state, *figures, idle)
    out.print(table if actors else "No server has started an actor yet.")


@cluster_cli.command("drain")
def cluster_drain(
    name: Annotated[str, typer.Argument(metavar="NODE", help="Address of a node, or name of an actor.")],
    undo: Annotated[bool, typer.Option("--undo", help="Place segments there again.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Take a node out of service: other actors open its segments, and then it is asked no more."""
    options = _options()
    from spanseek_ray.administration import drain

    names = drain(options, name, draining=not undo)
    if as_json:
        print_json({"actors": names, "draining": not undo})
    elif undo:
        out.print(f"Servers place segments on {', '.join(names)} again.", soft_wrap=True)
    else:
        out.print(f"Servers leave {', '.join(names)}. Remove the node when its actors stay idle.", soft_wrap=True)


def _options() -> ClusterOptions:
    options = Settings().of(RaySettings).cluster
    if options.address == LOCAL:
        raise InvalidInput(
            f"A cluster of SPANSEEK_RAY_ADDRESS={LOCAL} belongs to the process that started it.",
            hint="`/metrics` of that server has its actors.",
        )
    return options
