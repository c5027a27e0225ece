import BatonExporter
import BatonModel
import BatonTelemetry
import Testing

@Suite struct ExporterHealthTests {
  var health = ExporterHealth()

  private mutating func note(
    _ verdict: ExportVerdict, _ reason: String = "", at seconds: Int64
  ) -> [ExporterHealth.Report] {
    health.note(verdict, reason: reason, at: Instant(nanoseconds: seconds * 1_000_000_000))
  }

  @Test mutating func `down once, back once`() {
    #expect(note(.delivered, at: 0) == [])
    #expect(note(.unreachable, "refused", at: 1) == [.down(reason: "refused")])
    #expect(note(.retry(after: .seconds(5)), "HTTP 503", at: 2) == [])
    #expect(note(.delivered, at: 61) == [.back(after: .seconds(60))])
    #expect(note(.delivered, at: 62) == [])
    #expect(note(.unreachable, "closed", at: 63) == [.down(reason: "closed")])
  }

  @Test mutating func `a refusal is an answer, and another one is reported a minute later`() {
    #expect(note(.unreachable, "closed", at: 0) == [.down(reason: "closed")])
    #expect(
      note(.rejected(reason: "HTTP 401"), at: 5) == [
        .back(after: .seconds(5)), .refused(reason: "HTTP 401", unreported: 0),
      ])
    #expect(note(.rejected(reason: "HTTP 401"), at: 6) == [])
    #expect(note(.partial(rejected: 2, message: "no"), at: 64) == [])
    #expect(
      note(.partial(rejected: 2, message: "no"), at: 65) == [.partial(rejected: 2, message: "no", unreported: 2)])
    #expect(note(.rejected(reason: "HTTP 401"), at: 125) == [.refused(reason: "HTTP 401", unreported: 0)])
  }

  @Test mutating func `a refusal that goes on is said once, until something was taken`() {
    #expect(note(.rejected(reason: "HTTP 404"), at: 0) == [.refused(reason: "HTTP 404", unreported: 0)])
    for minute in 1...1000 { #expect(note(.rejected(reason: "HTTP 404"), at: 60 * Int64(minute)) == []) }
    #expect(note(.delivered, at: 70_000) == [])
    #expect(note(.rejected(reason: "HTTP 404"), at: 70_060) == [.refused(reason: "HTTP 404", unreported: 1000)])
  }
}
