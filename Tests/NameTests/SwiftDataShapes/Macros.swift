// SwiftData is not on Linux. These macros have the names and the shapes of its own, and expand to nothing.

/// An option of an attribute.
public struct ShapeOption: Sendable {
    /// No two objects have the same value.
    public static let unique = ShapeOption()
}

/// `@Attribute(.unique) var name: String`.
@attached(accessor, names: named(willSet))
public macro Attribute(_ options: ShapeOption...) =
    #externalMacro(module: "ObservationMacros", type: "ObservationIgnoredMacro")

/// `@Relationship(inverse: …) var shop: Shop?`.
@attached(accessor, names: named(willSet))
public macro Relationship(_ options: ShapeOption..., inverse: AnyKeyPath? = nil) =
    #externalMacro(module: "ObservationMacros", type: "ObservationIgnoredMacro")
