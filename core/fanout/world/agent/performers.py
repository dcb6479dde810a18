"""What an agent's steps ask of the world besides calls: tools, checks, look-ups.

Each runs as a task of its own and ends in one message. A failure of a tool is a
result the model reads; a failure to write an output is a reason to send back or
to end the row; neither ends the run.
"""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fanout.decide.hollow import hollow, is_blank
from fanout.disk.jsonline import to_json
from fanout.disk.reserve import no_room
from fanout.errors import FanoutError
from fanout.files.outputs import OutputFolder, Problem, encode_output
from fanout.files.safecall import Guarded
from fanout.files.safefile import sha256
from fanout.files.tools import WriteOutput
from fanout.words.clean import shortened
from fanout.words.hiding import redact
from fanout.words.model import MissingKind, RowId
from fanout.words.orders import AgentOrder
from fanout.words.tools import Tool, ToolResult
from fanout.world.agent.lookup import Lookup, Order, Sought
from fanout.world.agent.openings import last_output, wrote_output
from fanout.world.core import Core
from fanout.world.messages import Checked, Found, LookedUp, NoRoom, ToolsCame
from fanout.world.rows import Work

PROBLEM_MAX = 4_000
"""Characters of what an agent is told about its answer; it may quote the answer."""

Threads = Callable[..., Awaitable[Any]]
"""`asyncio.to_thread`, or an inline runner for virtual time."""


Apart = Callable[[Coroutine[Any, Any, ToolResult]], Awaitable[ToolResult]]
"""Where a script's own tools run; `fanout.world.agent.toolloop`."""

ROOM_SECONDS = 2.0
"""How long an output that found no room is left alone."""


class Performers:
    """Runs what a step asks for."""

    def __init__(
        self,
        core: Core,
        *,
        folder: OutputFolder,
        lookup: Lookup,
        threads: Threads,
        apart: Apart,
    ) -> None:
        self._core = core
        self._apart = apart
        self._folder = folder
        self._lookup = lookup
        self._threads = threads
        self._tools: dict[RowId, asyncio.Task[None]] = {}

    # -- look-ups ----------------------------------------------------------

    def look_up(self, works: Sequence[Sought]) -> None:
        """Search earlier work for these rows; ends in `LookedUp`."""
        self._core.spawn(self._look_up(tuple(works)), "look up earlier work")

    async def _look_up(self, works: Sequence[Sought]) -> None:
        found = await self._threads(self._lookup.find, works)
        known = self._lookup
        self._core.put(
            LookedUp(tuple(found), known.held, known.elsewhere, known.experience)
        )

    def restore(self, work: Work, found: Found) -> None:
        """Try again to put a finished output in place; ends in `LookedUp`."""
        self._core.spawn(self._restore(work.order, found), "restore an output")

    async def _restore(self, order: Order, found: Found) -> None:
        again = await self._threads(self._lookup.restored, order, found)
        self._core.put(LookedUp((again,)))

    # -- tools -------------------------------------------------------------

    def run_tools(self, work: Work, uses: Sequence[Mapping[str, Any]]) -> None:
        """Run one turn's tools in the order asked; ends in `ToolsCame`."""
        row = work.order.row
        running = self._run_tools(work, uses, work.step)
        self._tools[row] = self._core.spawn_apart(running, f"tools of {row}")

    @property
    def rows_with_tools(self) -> tuple[RowId, ...]:
        """Rows whose tools run now."""
        return tuple(self._tools)

    def give_up_tools(self, row: RowId) -> None:
        """Nobody waits for this row's tools any more."""
        task = self._tools.pop(row, None)
        if task is not None:
            task.cancel()

    async def _run_tools(
        self, work: Work, uses: Sequence[Mapping[str, Any]], step: int
    ) -> None:
        tools = {tool.name: self._bound(tool, work) for tool in work.order.tools}
        results: list[dict[str, Any]] = []
        read: dict[str, str] = {}
        written: dict[str, str] = {}
        for use in uses:
            result = await self._call(tools, use)
            read.update(result.files_read)
            written.update(result.files_written)
            results.append(_block(use, result))
        self._tools.pop(work.order.row, None)
        self._core.put(
            ToolsCame(
                row=work.order.row,
                step=step,
                results=tuple(results),
                files_read=read,
                files_written=written,
            )
        )

    async def _call(
        self, tools: Mapping[str, Tool], use: Mapping[str, Any]
    ) -> ToolResult:
        name = str(use.get("name"))
        tool = tools.get(name)
        if tool is None:
            known = ", ".join(tools) or "none"
            text = f"there is no tool {name}; tools: {known}"
            return ToolResult(content=text, is_error=True)
        arguments = use.get("input")
        if use.get("cut_input") or not isinstance(arguments, dict):
            text = "the arguments were cut or are no object; call it again, whole"
            return ToolResult(content=text, is_error=True)
        running = tool.run(arguments)
        # Our own tools block nothing; a stranger's may.
        return await (self._apart(running) if isinstance(tool, Guarded) else running)

    def _bound(self, tool: Tool, work: Work) -> Tool:
        """Give `write_output` the one file this agent may write."""
        if not isinstance(tool, WriteOutput) or work.order.output is None:
            return tool
        output = work.order.output

        async def write(content: str) -> tuple[str, str]:
            data = content.encode("utf-8", errors="replace")
            written = await self._threads(self._folder.write, output, data)
            return written.path, written.sha256

        return tool.bind(write)

    # -- checks ------------------------------------------------------------

    def check(self, work: Work, text: str) -> None:
        """Hold an answer against what was expected; ends in `Checked`."""
        judging = self._check(work, text, work.step)
        self._core.spawn(judging, f"check of {work.order.row}")

    async def _check(self, work: Work, text: str, step: int) -> None:
        core, row = self._core, work.order.row
        while True:
            try:
                checked = await self._threads(self._judge, work, text, step)
            except (FanoutError, OSError) as error:
                if no_room(error) and core.state.stop is None:
                    # The answer is paid for: it waits for room, and so does all else.
                    core.put(NoRoom(row, str(error)))
                    await asyncio.sleep(ROOM_SECONDS)
                    continue
                checked = Checked(
                    row=row,
                    step=step,
                    problem=str(error),
                    kind=MissingKind.NO_OUTPUT,
                    again=True,
                )
            break
        core.cramped.pop(row, None)
        problem = shortened(checked.problem, PROBLEM_MAX)
        core.put(replace(checked, problem=problem))

    def _judge(self, work: Work, text: str, step: int) -> Checked:
        """Write and verify; runs in a thread."""
        order = work.order
        if order.output is not None and wrote_output(work.conversation):
            return self._own_output(work, order.output, step)
        if is_blank(text):
            problem = "the agent ended without an answer"
            return Checked(
                row=order.row, step=step, problem=problem, kind=MissingKind.NO_OUTPUT
            )
        value: Any = text
        data = text.encode("utf-8", errors="replace")
        if order.validate is not None:
            try:
                value = order.validate(data)
            except ValueError as error:
                return Checked(row=order.row, step=step, problem=str(error))
            data = encode_output(value)
        elif problem := hollow(text, order.output):
            return Checked(row=order.row, step=step, problem=problem)
        if order.output is None:
            return Checked(row=order.row, step=step, value=value)
        written = self._folder.write(order.output, data)
        return self._verified(order, order.output, step, written.sha256)

    def _own_output(self, work: Work, output: str, step: int) -> Checked:
        """Hold what the agent wrote itself against the disk.

        A file that is not there is written again, from the conversation; one that
        is not what the agent left does not count.
        """
        content = (last_output(work.conversation) or "").encode(errors="replace")
        path = os.path.join(self._folder.path, output)  # noqa: PTH118  pure text
        left = work.all_written().get(path)
        if left is None or (left == sha256(content) and not os.path.lexists(path)):
            left = self._folder.write(output, content).sha256
        return self._verified(work.order, output, step, left)

    def _verified(
        self, order: AgentOrder, output: str, step: int, digest: str
    ) -> Checked:
        """Read the output back from the disk: only the disk decides.

        `digest` is of what was written.
        """
        verified = self._folder.verify(output, order.validate)
        if isinstance(verified, Problem):
            agents = verified.kind in ("not json", "misfit")
            kind = None if agents else MissingKind.NO_OUTPUT
            return Checked(row=order.row, step=step, problem=verified.text, kind=kind)
        value, problem, kind = verified.value, "", None
        if verified.sha256 != digest:
            problem = f"`{output}` was changed by another hand after it was written"
            kind = MissingKind.NO_OUTPUT
        elif order.validate is None:
            problem = hollow(value, None)
        return Checked(
            row=order.row,
            step=step,
            problem=problem,
            kind=kind,
            value=None if problem else value,
            output=output,
            sha256=verified.sha256,
            size=verified.size,
        )


def _block(use: Mapping[str, Any], result: ToolResult) -> dict[str, Any]:
    """Return a result as the model reads it, and as the journal can hold it."""
    block: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": use.get("id"),
        "content": result.content,
    }
    if result.is_error:
        block["is_error"] = True
    # What a stranger's tool gave may be no JSON; a resumed agent must send the
    # same bytes as a live one.
    kept: dict[str, Any] = json.loads(redact(to_json(block)))
    return kept
