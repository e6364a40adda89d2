import Logging
import PriceStore
import RetentionPolicy

extension Run {
    /// Creates the tables for candles that the store lacks. ``RollupCheck`` has found that they can be created.
    func makeCandleTables() throws {
        for rule in setup.policy.rules where rule.isEnabled && setup.options.includes(rule) {
            guard let date = rule.date(zone: setup.policy.timezone), let rollup = rule.rollupRequest(date),
                let source = try writer.entity(named: rule.entity), try writer.entity(named: rollup.target) == nil
            else { continue }
            try writer.createCandles(rollup, of: source)
            logger.notice("table created", metadata: ["rule": "\(rule.name)", "entity": "\(rollup.target)"])
        }
    }
}

extension RunReport.RuleReport {
    /// Takes the number of candles that the rows have become, or would become.
    mutating func take(_ candles: CandleTally) {
        (self.candles.created, self.candles.changed) = (candles.created, candles.changed)
    }
}
