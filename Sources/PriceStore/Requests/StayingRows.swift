/// Where all rows of a table are that a rule leaves.
public enum StayingRows: Hashable, Sendable {
    /// Between two rowids, both inclusive.
    case rowIDs(ClosedRange<Int64>)
    /// At readable dates that are not before the cutoff.
    case newerRows
}
