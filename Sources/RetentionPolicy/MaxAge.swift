/// How long a row is kept: an amount of calendar units and exact units, each at least 0 and not all 0.
package struct MaxAge: Hashable, Sendable {
    package var years = 0
    package var months = 0
    package var weeks = 0
    package var days = 0
    package var hours = 0
    package var minutes = 0
    package var seconds = 0
    /// The age as the user wrote it.
    package var written: String

    package init(written: String) { self.written = written }
}
