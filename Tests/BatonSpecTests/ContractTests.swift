import BatonModel
import BatonSpec
import ContractRows
import Testing

@Suite("What the contract asks of a job's YAML")
struct ContractTests {
  private func job(_ identifier: String, kind: String = "processing", _ more: String = "") -> String {
    "identifier: \(identifier)\nkind: \(kind)\n\(more)"
  }

  @Test("a wildcard is declared by a trailing '*' after a dot, and case counts", .contract(1.4, 2.1))
  func wildcards() {
    let text = [job("com.x.export.*"), job("com.x.Export.*"), job("com.x.export")].joined(separator: "---\n")
    let patterns = read(text).definitions.map(\.definition.pattern)
    #expect(patterns.map(\.isWildcard) == [true, true, false])
    #expect(patterns.map { $0.matches(JobIdentifier(trusted: "com.x.export.photos")) } == [true, false, false])
  }

  @Test("wildcards that overlap are refused at the later one; a literal beside a wildcard is not", .contract(2.4))
  func overlaps() {
    let overlapping = read(job("com.x.*") + "---\n" + job("com.x.export.*"))
    #expect(
      overlapping.problems.map(\.headline) == [
        "job.yaml:4:13: error: 'com.x.export.*' overlaps 'com.x.*' at job.yaml:1:13: an identifier could match both; "
          + "narrow one of them"
      ])
    #expect(read(job("com.x.*") + "---\n" + job("com.x.export")).problems == [])
  }

  @Test("a repeating refresh within 15 minutes is worth a warning, unless it may come often")
  func frequentRefresh() {
    #expect(read(job("com.x.news", kind: "refresh", "repeat: {every: 15m}\n")).problems == [])
    #expect(read(job("com.x.news", kind: "refresh", "repeat: {every: 899s}\n")).warnings.count == 1)
    let allowed = "repeat: {every: 899s}\nallowFrequent: true\n"
    #expect(read(job("com.x.news", kind: "refresh", allowed)).problems == [])
  }

  @Test("earliestBeginDate of a continued job is ignored with a warning", .contract(12.3))
  func continued() {
    let specification = read(job("com.x.export", kind: "continued", "title: Export\nearliestBeginDate: 15m\n"))
    #expect(specification.problems.map(\.severity) == [.warning])
    #expect(specification.problems.map(\.position) == [Position(line: 4, column: 1)])
    #expect(specification.definitions.count == 1)
  }

  @Test("a week is taken in silence, more with a warning, and the date stays what it is", .contract(14.1, 14.2))
  func withinAWeek() {
    let week = read(job("com.x.index", "earliestBeginDate: 7d\n"))
    #expect(week.problems == [])
    let more = read(job("com.x.index", "earliestBeginDate: 7d1ms\n"))
    #expect(more.problems.map(\.severity) == [.warning])
    #expect(
      more.definitions.map(\.definition.earliestBeginDate) == [
        .afterSubmission(.seconds(7 * 86_400) + .milliseconds(1))
      ])
  }

  @Test("a lead that does not fit the closing window of its kind is refused, and fits a longer one")
  func lead() {
    let work = "work: {command: [/bin/true], terminateBefore: 6s}\n"
    #expect(read(job("com.x.index", work)).problems == [])
    #expect(read(job("com.x.news", kind: "refresh", work)).errors.map(\.position) == [Position(line: 3, column: 47)])
    #expect(read(job("com.x.news", kind: "refresh", "closingWindow: 7s\n" + work)).problems == [])
  }
}
