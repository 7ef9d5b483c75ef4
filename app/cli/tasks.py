"""``spanseek tasks``: list, show and cancel the tasks of a server."""

from typing import TYPE_CHECKING, Annotated, cast

import typer

from app.answers import json_values
from app.cli.console import JsonOption, one_line, open_services, out, print_json

if TYPE_CHECKING:
    from app.tasks.answers import KindName, TaskDescription
    from indexer.catalog.tasks import Status

tasks_cli = typer.Typer(help="Uploads and other long work of a server.", no_args_is_help=True)
IdArgument = Annotated[str, typer.Argument(help="The task's id.")]


@tasks_cli.command("list")
def list_tasks(
    collection: Annotated[list[str] | None, typer.Option("--collection", "-c", help="Only of this one.")] = None,
    kind: Annotated[list[str] | None, typer.Option(help="Only of this kind, such as upload or reindex.")] = None,
    status: Annotated[list[str] | None, typer.Option(help="Only of this status, such as running or failed.")] = None,
    limit: Annotated[int, typer.Option(help="Maximum number of tasks, up to 1,000.")] = 100,
    cursor: Annotated[str | None, typer.Option(help="The cursor of the previous page.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List tasks, the newest first."""
    from app.tasks.service import TaskService

    kinds, statuses = cast("list[KindName]", kind or []), cast("list[Status]", status or [])
    with open_services() as services:
        page = services.get(TaskService).list(limit, cursor, collections=collection, kinds=kinds, statuses=statuses)
    if as_json:
        print_json(json_values(page))
        return
    for task in page.tasks:
        why = "" if task.error is None else f": {one_line(task.error.detail)}"
        out.print(f"{_line(task)}{why}", soft_wrap=True, markup=False)
    if not page.tasks:
        out.print("There is no task.")
    if page.cursor is not None:
        out.print(f"The next page: --cursor {page.cursor}", soft_wrap=True, markup=False)


@tasks_cli.command("show")
def show_task(id: IdArgument, as_json: JsonOption = False) -> None:
    """Show a task: its progress, counts and errors."""
    from app.tasks.service import TaskService

    with open_services() as services:
        _show(services.get(TaskService).get(id), as_json=as_json)


@tasks_cli.command("cancel")
def cancel_task(id: IdArgument, as_json: JsonOption = False) -> None:
    """Cancel a task: at once while it waits, soon while it runs. What it has published stays."""
    from app.tasks.service import TaskService

    with open_services() as services:
        _show(services.get(TaskService).cancel(id), as_json=as_json)


def _line(task: "TaskDescription") -> str:
    progress = task.progress
    share = f"{progress.done:,}" + (f" of {progress.total:,}" if progress.total is not None else "")
    return f"{task.id}  {task.kind:11s} {task.collection}  {task.status}  {share} {progress.unit}"


def _show(task: "TaskDescription", *, as_json: bool) -> None:
    if as_json:
        print_json(json_values(task))
        return
    out.print(_line(task), soft_wrap=True, markup=False)
    for name, count in task.counts.items():
        out.print(f"{name:10s} {count:,}")
    for error in task.errors:
        out.print(f"line {error.line:,}: {one_line(error.detail)}", soft_wrap=True, markup=False)
    if task.error is not None:
        out.print(f"{task.error.code}: {one_line(task.error.detail)} {task.error.hint}", soft_wrap=True, markup=False)
    if task.waiting is not None:
        since, again = (f"{each:%Y-%m-%d %H:%M:%S} UTC" for each in (task.waiting.since, task.waiting.next_try))
        out.print(f"It waits since {since} and is tried again at {again}.", soft_wrap=True, markup=False)
