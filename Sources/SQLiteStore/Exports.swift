// An import of the engine imports the whole library, with requests, values and objects. Swift has no other way for one import to stand for
// several modules; see docs/decisions/0028-one-import.md.
@_exported public import PriceObjects
@_exported public import PriceStore
