package import Testing

extension Tag {
    /// The results depend on the clock of the program, such as ages, guards of the clock and missed runs. `scripts/nightly
    /// later` runs these suites as if it were another time; it finds them by the line of `@Suite(.tags(.clock)) struct`.
    @Tag package static var clock: Self
}
