import Logging
import PriceObjects
import PriceStore
import RetentionPolicy

extension Run {
    /// Makes the tables for candles that the store lacks. ``RollupCheck`` has found that they can be made.
    func makeCandleTables() throws {
        for rule in setup.policy.rules where rule.isEnabled && setup.options.includes(rule) {
            guard let setting = rule.rollup, let date = rule.date(zone: setup.policy.timezone),
                let source = try writer.entity(named: rule.entity), try writer.entity(named: setting.target) == nil,
                let rollup = rule.rollupRequest(date), let table = rollup.table(for: source)
            else { continue }
            try writer.createEntity(table)
            logger.notice("table created", metadata: ["rule": "\(rule.name)", "entity": "\(table.name)"])
        }
    }
}

extension RunReport.RuleReport {
    /// Tells how many candles the rows have become, or would become.
    mutating func take(_ candles: CandleTally) {
        candlesCreated = candles.created
        candlesChanged = candles.changed
    }
}
