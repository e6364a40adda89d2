extension GoldObjects {
    /// What the price points are related to.
    package enum Shape: String, CaseIterable, Sendable {
        /// An entity `Symbol`: deleting a point keeps it (nullify), deleting it deletes its points (cascade).
        case symbol
        /// An entity `PriceDetail`, one for each point, which is deleted with it.
        case detail
        /// Nothing: the model has no relationship.
        case none

        /// The model; `updateTime` has a fetch index.
        var model: ModelDescription {
            var point = ModelDescription.Entity(
                name: "YahooGoldPricePoint",
                attributes: [
                    .init(name: "updateTime", kind: .date, isOptional: false),
                    .init(name: "price", kind: .double, isOptional: false),
                    .init(name: "open", kind: .double), .init(name: "high", kind: .double),
                    .init(name: "low", kind: .double), .init(name: "volume", kind: .integer64),
                ],
                indexes: [.init(name: "byUpdateTime", attributes: ["updateTime"])])
            switch self {
            case .symbol:
                point.relationships = [.init(name: "symbol", destination: "Symbol", inverse: "points", rule: .nullify)]
                let symbol = ModelDescription.Entity(
                    name: "Symbol", attributes: [.init(name: "name", kind: .string, isOptional: false)],
                    relationships: [
                        .init(
                            name: "points", destination: point.name, inverse: "symbol", rule: .cascade, isToMany: true)
                    ])
                return ModelDescription(entities: [symbol, point])
            case .detail:
                point.attributes.append(.init(name: "symbol", kind: .string, isOptional: false))
                point.relationships = [
                    .init(name: "detail", destination: "PriceDetail", inverse: "point", rule: .cascade)
                ]
                let detail = ModelDescription.Entity(
                    name: "PriceDetail", attributes: [.init(name: "source", kind: .string)],
                    relationships: [.init(name: "point", destination: point.name, inverse: "detail", rule: .nullify)])
                return ModelDescription(entities: [detail, point])
            case .none:
                point.attributes.append(.init(name: "symbol", kind: .string, isOptional: false))
                return ModelDescription(entities: [point])
            }
        }
    }
}
