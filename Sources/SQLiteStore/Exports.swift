// Whoever imports the engine has the whole library: requests, values and objects too. Swift has no other way to let one
// import stand for several modules; see docs/decisions/0028-one-import.md.
@_exported public import PriceObjects
@_exported public import PriceStore
