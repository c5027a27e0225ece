import BatonTelemetry
import Testing

@Suite struct BoundedLabelTests {
  @Test("Who comes first keeps a series, who comes later is one of the others, for good")
  func order() {
    var label = BoundedLabel(limit: 2)
    let values = ["a", "b", "a", "c", "b", "d", "c"].map { label.value($0) }
    #expect(values.map(\.value) == ["a", "b", "a", "other", "b", "other", "other"])
    #expect(values.map(\.isNew) == [true, true, false, false, false, false, false])
  }
}
