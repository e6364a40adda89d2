"""The stores that are measured, and the words in which each side is told what to delete."""

import time
from dataclasses import dataclass

# All points of a store are before this instant, and it is the run's "as of": the figures do not depend on the day.
UNTIL = "2025-01-01T00:00:00Z"
UNTIL_SECONDS = 1735689600
# Core Data's dates begin in 2001.
APPLE_EPOCH_SECONDS = 978307200
ENTITY = "YahooGoldPricePoint"


@dataclass(frozen=True)
class Schema:
    """A shape of store: how goldprices makes it, and its names in SQL and in a policy."""

    name: str
    what: str
    options: tuple
    symbols: int = 1
    is_ordered: bool = True
    table: str = ENTITY
    date: str = "updateTime"
    key: str = "id"
    date_format: str = "unix_seconds"

    def kept(self, rows, percent):
        """How many rows a delete of the oldest `percent` leaves; every minute goes with all of its symbols."""
        minutes = rows // self.symbols
        return (minutes - minutes * percent // 100) * self.symbols

    def cutoff(self, kept):
        """The date before which rows go, as the column stores it, where `kept` rows stay."""
        seconds = UNTIL_SECONDS - kept // self.symbols * 60
        if self.date_format == "iso8601":
            return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
        return str(seconds - (APPLE_EPOCH_SECONDS if self.date_format == "apple_seconds" else 0))

    def delete(self, kept):
        """The one statement of the shell."""
        cutoff = self.cutoff(kept)
        value = f"'{cutoff}'" if self.date_format == "iso8601" else cutoff
        return f"DELETE FROM {self.table} WHERE {self.date} < {value}"

    def policy(self, kept, extra=""):
        """The same for the job. The shell gives no room back, so the job does not either."""
        return (
            "version: 1\nstore: prices.sqlite\nrules:\n  - name: bench\n"
            f"    entity: {ENTITY}\n    date_attribute: updateTime\n    date_format: {self.date_format}\n"
            f"    max_age: {kept // self.symbols}min\n    reclaim: none\n{extra}")

    def peer_options(self, kept):
        """The same for the peers."""
        return ["--table", self.table, "--date", self.date, "--key", self.key, "--", "prices.sqlite", self.cutoff(kept)]


SYMBOLS = ("--symbols", "XAUUSD,XAUEUR,XAUGBP,XAGUSD,XAGEUR,XPTUSD,XPDUSD,GC=F,SI=F,PL=F")
SCHEMAS = {
    schema.name: schema for schema in [
        Schema("S1", "rowid table, date index", ("--schema", "s1")),
        Schema("S2", "S1 and a unique key (symbol, time), 10 symbols", ("--schema", "s2", *SYMBOLS), 10),
        Schema(
            "S3", "WITHOUT ROWID, key (symbol, time), 10 symbols", ("--schema", "s3", *SYMBOLS), 10,
            key="symbol,updateTime"),
        Schema("S4", "rowid table, no date index", ("--schema", "s4")),
        Schema("S5", "S1 with dates as ISO text", ("--schema", "s5"), date_format="iso8601"),
        Schema(
            "S6", "Core Data store, no relationship", ("--core-data", "--relationship", "none"),
            table="ZYAHOOGOLDPRICEPOINT", date="ZUPDATETIME", key="Z_PK", date_format="apple_seconds"),
        Schema("R", "S1, rows in random time order", ("--schema", "s1", "--order", "random"), is_ordered=False),
    ]
}
