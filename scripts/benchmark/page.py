"""The pages, drawn from a result. The prose around them is in the pages themselves and has no figures."""

from . import plot, scale, servers
from .goals import judge, name, pairs, quantile
from .parts.strategies import PERCENTS, STRATEGIES
from .schemas import SCHEMAS
from .words import number, spread, table

BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"
SIDES = {
    "nobody": "nobody deletes", "shell": "`DELETE` in the shell", "no_pause": "range batches, no pause",
    "job": "`retention run`"}


def write_all(result, docs):
    """Draws everything into the documentation's folder."""
    put(docs / "benchmarks.md", text(result) + servers.section(docs / "benchmarks-postgres.json"))
    put(docs / "scale.md", scale.text(result))
    (docs / "benchmarks-strategies.svg").write_text(plot.strategies(result))
    (docs / "benchmarks-writer.svg").write_text(plot.writer(result))


def put(page, words):
    """Puts the text between the markers of a page."""
    before, rest = page.read_text().split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    page.write_text(f"{before}{BEGIN}\n{words}\n{END}{after}")


def text(result, is_judged=True):
    """All sections that the result has figures for."""
    sections = [
        facts(result), goals(result) if is_judged else "", deletes(result), peers(result), strategies(result),
        live(result), starts(result), profiles(result), library(result)]
    return "\n\n".join(section for section in sections if section)


def facts(result):
    known = result.facts
    return (
        f"{known['date']} · {known['processor']}, {known['cores']} cores, {known['memory_gb']} GB · "
        f"Linux {known['linux']} · SQLite {known['sqlite']} · Swift {known['swift']}, release build as it is "
        f"installed · retention {known['retention']} · median (lowest–highest) of {known['runs']} runs "
        "where nothing else is said")


def goals(result):
    judged = judge(result)
    if not judged:
        return ""
    rows = []
    for goal in judged:
        where, value = goal.worst or ("", None)
        worst = "" if value is None else f"{number(value)}{goal.unit}"
        rows.append([goal.what, goal.limit_text, worst, where, goal.verdict])
    lines = ["## Goals", "", table(["goal", "limit", "furthest from it", "where", ""], rows)]
    missed = [
        f"- {goal.what}: " + ", ".join(f"{where} {number(value)}{goal.unit}" for where, value in goal.missed)
        for goal in judged if goal.is_missed]
    if missed:
        lines += [
            "", "Missed, each with all stores where it is (why: see [where the time goes](#where-the-time-goes)):", "",
            *missed]
    return "\n".join(lines)


def deletes(result):
    rows = []
    for job, shell in pairs(result, part="delete"):
        rows.append([
            name(job), job.strategy or "", spread(job.values("wall_ms")), spread(shell.values("wall_ms")),
            f"{job.ratio(shell, 'wall_ms'):.2f}", f"{job.ratio(shell, 'cpu_ms'):.2f}",
            *(f"{number(job.median(figure))} / {number(shell.median(figure))}"
              for figure in ("memory_mb", "wal_mb", "disk_mb", "written_mb")),
            f"{number(job.median('file_mb'))} / {number(shell.median('file_mb'))}",
        ])
    if not rows:
        return ""
    schemas = "\n".join(f"- {schema.name}: {schema.what}" for schema in SCHEMAS.values())
    return "\n".join([
        "## Deletes, alone with the store", "", schemas, "",
        "Two figures with a stroke are the job's and the shell's.", "",
        table(
            ["store, rows, expired", "strategy", "job, wall ms", "shell, wall ms", "wall ratio", "CPU ratio",
             "peak MB", "WAL peak MB", "room on disk MB", "written MB", "file after MB"], rows)])


def peers(result):
    rows = []
    for job in result.find(part="delete", side="job"):
        facts_ = {"part": "delete", "schema": job.schema, "rows": job.rows, "percent": job.percent}
        shell, chunks, objects = (result.one(**facts_, side=side) for side in ("shell", "chunks", "objects"))
        if not job.is_available or not (shell and chunks and objects):
            continue
        cells = [name(job)]
        for figure in ("wall_ms", "cpu_ms"):
            cells += [f"{side.ratio(shell, figure):.2f}" for side in (job, chunks, objects)]
        cells += [number(side.median("memory_mb")) for side in (job, chunks, objects)]
        rows.append(cells)
    if not rows:
        return ""
    return "\n".join([
        "## Beside two other programs", "",
        "Ratios to the shell's `DELETE`. `chunks` selects keys and deletes their rows, chunk by chunk; `objects` loads "
        "every row as an object and deletes one by one.", "",
        table(
            ["store, rows, expired", "wall: job", "chunks", "objects", "CPU: job", "chunks", "objects",
             "peak MB: job", "chunks", "objects"], rows)])


def strategies(result):
    lines = []
    for schema in ("S1", "R"):
        rows, absent = [], []
        for strategy in STRATEGIES:
            cells = [strategy]
            for percent in PERCENTS:
                key = {"part": "strategy", "schema": schema, "percent": percent}
                cell, shell = result.one(**key, side=strategy), result.one(**key, side="shell")
                if cell and shell:
                    taken = f" {cell.strategy}" if strategy == "auto" and cell.strategy else ""
                    cells.append(f"{cell.ratio(shell, 'wall_ms'):.2f}{taken}")
                else:
                    cells.append("")
            if any(cells[1:]):
                rows.append(cells)
            elif result.find(part="strategy", schema=schema, side=strategy):
                absent.append(f"`{strategy}`")
        if rows:
            lines += ["", f"{schema}, {SCHEMAS[schema].what}:", "", table(
                ["strategy", *(f"{percent} %" for percent in PERCENTS)], rows)]
        if absent:
            lines += ["", f"Not available for {schema}: {', '.join(absent)}."]
    if not lines:
        return ""
    return "\n".join([
        "## Every strategy by force", "",
        "![Wall time of each strategy as a ratio to the shell's DELETE, by expired fraction]"
        "(benchmarks-strategies.svg)", "",
        "Wall time as a ratio to the shell's `DELETE`, by expired fraction; `auto` with what it chose.", *lines,
        *locks(result)])


def locks(result):
    """The lock of the strategies that hold it for long: how long it was to be, and how long it was."""
    rows = [
        [f"{cell.schema} {cell.percent} %", cell.side,
         *(spread(values) if values else "" for values in (cell.predicted_lock_ms, cell.lock_ms))]
        for cell in result.find(part="strategy") if cell.is_available and "lock_ms" in cell.facts]
    if not rows:
        return []
    return ["", "The lock of those that hold it for long, in milliseconds:", "", table(
        ["store, expired", "strategy", "predicted", "held"], rows)]


def live(result):
    rows = []
    shell = result.one(part="live", side="shell")
    for side, words in SIDES.items():
        cell = result.one(part="live", side=side)
        if not cell:
            continue
        ratio = "" if side == "nobody" or not shell else f"{cell.ratio(shell, 'wall_ms'):.2f}"
        wall = "" if side == "nobody" else number(cell.median("wall_ms"))
        wal = "" if side == "nobody" else number(cell.median("wal_mb"))
        rows.append([
            words, wall, ratio, wal,
            *(number(quantile(cell, actor, share)) for actor in ("writer_ms", "reader_ms")
              for share in (0.5, 0.95, 0.99, 1))])
    if not rows:
        return ""
    cell = result.one(part="live", side="job") or result.find(part="live")[0]
    return "\n".join([
        "## Beside a writer and a reader", "",
        "![Latency of a writer while rows are deleted, as a distribution](benchmarks-writer.svg)", "",
        f"S2, {cell.rows:,} rows, {cell.percent} % expired; latencies in milliseconds from the planned start, the "
        f"median of {len(cell.values('wall_ms'))} runs.", "",
        table(
            ["", "wall ms", "ratio", "WAL peak MB", "writer p50", "p95", "p99", "worst", "reader p50", "p95", "p99",
             "worst"], rows)])


def starts(result):
    rows = []
    for part, what in (("nothing", "nothing expired"), ("dry_run", "dry run, half expired; the shell counts the same")):
        rows += [both(f"{job.schema}, {job.rows:,} rows: {what}", job, shell) for job, shell in pairs(result, part=part)]
    rows += [
        both(f"{job.schema}, {job.rows:,} rows: {job.percent} % expired, beside a reader ({job.strategy})", job, shell)
        for job, shell in pairs(result, part="company")]
    if not rows:
        return ""
    return "## Starts, dry runs, company\n\n" + table(
        ["", "job, wall ms", "shell, wall ms", "job, CPU ms", "shell, CPU ms"], rows)


def both(what, job, shell):
    """Wall and CPU time of the job and of the shell."""
    return [what, *(spread(side.values(figure)) for figure in ("wall_ms", "cpu_ms") for side in (job, shell))]


def profiles(result):
    cells = result.find(part="profile")
    if not cells:
        return ""
    names = sorted(
        {library for cell in cells for library, (value,) in cell.samples.items() if value >= 0.5},
        key=lambda library: -sum(cell.samples.get(library, [0])[0] for cell in cells))
    rows = []
    for cell in cells:
        all_of_it = sum(value for (value,) in cell.samples.values())
        shown = [cell.samples.get(library, [0])[0] for library in names]
        what = f"{cell.schema}, {cell.percent} %" if cell.percent else f"{cell.schema}, nothing expired"
        rows.append([what, cell.side, number(all_of_it), *map(number, shown), number(max(0, all_of_it - sum(shown)))])
    return "\n".join([
        "## Where the time goes", "",
        "Milliseconds of processor time by library: samples of `perf record`, the mean of some runs. `loader` links "
        "the libraries of the process before it begins.", "",
        table(["store, expired", "", "all", *names, "others"], rows), "", "What the job has more than the shell:", "",
        *differences(result, cells)])


def differences(result, cells):
    """A line for each profile: in which libraries the job spends more than the shell, and how much of it is the start."""
    lines = []
    for job in (cell for cell in cells if cell.side == "job"):
        (shell,) = result.find(part="profile", schema=job.schema, percent=job.percent, side="shell")
        more = {
            library: value - shell.samples.get(library, [0])[0] for library, (value,) in job.samples.items()}
        shown = sorted((library for library in more if more[library] >= 1), key=lambda library: -more[library])
        what = f"{job.percent} % expired" if job.percent else "nothing expired"
        lines.append(
            f"- {job.schema}, {what}: {number(sum(more.values()))} ms, of it "
            + ", ".join(f"{number(more[library])} in {library}" for library in shown))
    start = result.one(part="nothing", side="job")
    small = result.one(part="delete", side="job", schema="S1", percent=1)
    if start and small:
        lines.append(
            f"- The start of the process is in all of them: a run in which nothing is expired takes "
            f"{number(start.median('cpu_ms'))} ms of CPU, the one with {small.percent} % of {small.rows:,} rows "
            f"{number(small.median('cpu_ms'))} ms.")
    return lines


def library(result):
    rows = []
    for part, what in (
        ("library_delete", "delete {:,}: batch delete; classic delete"),
        ("library_insert", "insert {:,}: batch insert; prepared statement through GRDB"),
    ):
        batch, other = result.one(part=part, side="batch"), result.one(part=part, side="other")
        if batch and other:
            for figure, unit in (("cpu_ms", "CPU ms"), ("memory_mb", "peak MB")):
                rows.append([
                    what.format(batch.rows), unit, spread(batch.values(figure)), spread(other.values(figure)),
                    f"{batch.ratio(other, figure):.2f}"])
    job, shell = result.one(part="cascade", side="job"), result.one(part="cascade", side="shell")
    if job and shell:
        rows.append([
            f"Core Data, one-to-one cascade, half of {job.rows:,}: the job; the shell with `ON DELETE CASCADE`",
            "CPU ms", spread(job.values("cpu_ms")), spread(shell.values("cpu_ms")), f"{job.ratio(shell, 'cpu_ms'):.2f}"])
    merge = result.one(part="library_merge")
    if merge:
        rows.append([
            f"merge {merge.rows:,} deleted IDs into a context that holds {merge.held:,} of them", "wall ms",
            spread(merge.values("wall_ms")), "", ""])
    return "## The library\n\n" + table(["what", "", "first", "second", "ratio"], rows) if rows else ""
