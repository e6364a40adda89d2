import PriceStore
import RetentionJob
import TestSupport
import Testing

@testable import RetentionReports

/// The report of an inspection, for people.
@Suite struct InspectionReportTests {
    /// An entity of a Core Data store as an engine would describe it.
    private static let car = Entity(
        name: "LuxuryCar",
        attributes: [
            Attribute(name: "soldAt", affinity: .numeric, declaredType: "TIMESTAMP", dateEncoding: .appleSeconds)
        ],
        model: EntityModel(
            table: "ZTABLE",
            parent: "SportCar", isAbstract: true, subentities: ["Coupe", "Roadster"],
            relationships: [
                ModelRelationship(
                    name: "owner", destination: "Person", inverse: "cars", deleteRule: .nullify, isToMany: false,
                    isOptional: false, isOrdered: false),
                ModelRelationship(
                    name: "parts", destination: "Part", inverse: nil, deleteRule: .cascade, isToMany: true,
                    isOptional: true, isOrdered: true),
            ]))

    private static let sample: StoreInspection = {
        var car = StoreInspection.EntityInspection(entity: Self.car, rowCount: 1200, sizeBytes: 20480)
        if let attribute = Self.car.attribute(named: "soldAt"),
            let recognition = DateRecognition(attribute, samples: [.integer(7)], clock: PriceFile.now)
        {
            car.dates = [
                StoreInspection.DateInspection(
                    attribute: attribute, recognition: recognition, oldest: Instant(unixSeconds: 1_000_000_000),
                    newest: PriceFile.now, readableCount: 1199,
                    unreadable: [.init(reason: .null, rowCount: 1, example: .null)])
            ]
        }
        return StoreInspection(store: "cars.sqlite", engine: "sqlite", sizeBytes: 40960, entities: [car])
    }()

    @Test func showsWhatAModelSays() {
        #expect(
            InspectionReport(Self.sample).text() == """
                cars.sqlite · sqlite · 40.0 KiB · 1 entity

                LuxuryCar: 1,200 rows, 20.0 KiB
                  abstract; parent SportCar; sub-entities Coupe, Roadster
                  DATE ATTRIBUTE  FORMAT         HOW SURE  OLDEST (UTC)         NEWEST (UTC)
                  soldAt          apple_seconds  declared  2001-09-09 01:46:40  2026-11-21 00:00:00
                  soldAt: 1 unreadable row: no value
                  RELATIONSHIP  TO      INVERSE  KIND              ON DELETE
                  owner         Person  cars     to one, required  nullify
                  parts         Part             to many, ordered  cascade

                """)
    }

    @Test func isNoWiderThanTheTerminal() {
        let lines = InspectionReport(Self.sample).text(TextLayout(width: 40, tableWidth: 40)).split(separator: "\n")
        #expect(lines.allSatisfy { $0.count <= 40 }, "\(lines)")
    }
}
