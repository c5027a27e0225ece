import BatonTelemetry
import Testing

@Suite struct BoundedLabelTests {
  @Test("The first labels keep their own series; later ones are counted as `other`, permanently")
  func order() {
    var label = BoundedLabel(limit: 2)
    let values = ["a", "b", "a", "c", "b", "d", "c"].map { label.value($0) }
    #expect(values.map(\.value) == ["a", "b", "a", "other", "b", "other", "other"])
    #expect(values.map(\.isNew) == [true, true, false, false, false, false, false])
  }
}
