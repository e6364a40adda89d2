import PriceStore

extension PolicyBuilder {
    mutating func hold(_ group: SettingGroup) -> Hold? {
        checkOrder(group, "from", "until", otherwise: "the hold covers nothing")
        guard let name = group.text("name"), let entity = group.text("entity") else { return nil }
        var hold = Hold(name: name, entity: entity, reason: group.text("reason") ?? "", marks: group.marks)
        hold.skipsMissing = group["missing"] != nil
        hold.filter = group.group("where").map(Self.predicate) ?? .all
        hold.from = group.instant("from")
        hold.until = group.instant("until")
        hold.expires = group.instant("expires")
        return hold
    }
}
