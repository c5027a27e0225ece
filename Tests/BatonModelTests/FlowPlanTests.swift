import BatonModel
import Testing

@Suite("The order of a flow")
struct FlowPlanTests {
  private static func member(
    _ name: String, after: [String] = [], on end: Dependency.End = .success, pattern: String? = nil
  ) throws -> FlowPlan.Member {
    var definition = Definition(pattern: try #require(IdentifierPattern(pattern ?? name)), kind: .processing)
    let waits = try after.map { Dependency(try #require(JobReference($0)), on: end) }
    definition.after = waits.isEmpty ? nil : waits
    return FlowPlan.Member(try #require(JobIdentifier(name)), of: definition)
  }

  @Test func eachMemberComesAfterThoseThatItWaitsFor() throws {
    let plan = try FlowPlan([
      Self.member("report", after: ["work", "check"]), Self.member("work", after: ["fetch"]), Self.member("fetch"),
      Self.member("check", after: ["fetch"], on: .any),
    ])
    #expect(plan.order == [2, 1, 3, 0])
    #expect(plan.waits[0].map(\.member) == [1, 3])
    #expect(plan.waits[3] == [FlowPlan.Wait(member: 2, end: .any)])
  }

  @Test func membersThatWaitForNothingStayInTheirOrder() throws {
    #expect(try FlowPlan([Self.member("b"), Self.member("a"), Self.member("c")]).order == [0, 1, 2])
  }

  @Test func aCircleIsNamedWithItsPath() throws {
    let members = try [
      Self.member("first", after: ["a"]), Self.member("a", after: ["b"]), Self.member("b", after: ["c"]),
      Self.member("c", after: ["a"]),
    ]
    #expect(throws: FlowProblem.cycle(["a", "b", "c", "a"])) { try FlowPlan(members) }
    #expect("\(FlowProblem.cycle(["a", "b", "a"]))".contains("a comes after b comes after a"))
  }

  @Test func whatIsNotInTheFlowIsNamed() throws {
    let problem = FlowProblem.notInFlow(try #require(JobIdentifier("a")), awaited: "z")
    #expect(throws: problem) { try FlowPlan([Self.member("a", after: ["z"])]) }
    #expect(throws: FlowProblem.twice(try #require(JobIdentifier("a")))) {
      try FlowPlan([Self.member("a"), Self.member("a")])
    }
    let many = try (0...FlowPlan.largest).map { try Self.member("a\($0)") }
    #expect(throws: FlowProblem.tooMany(FlowPlan.largest + 1)) { try FlowPlan(many) }
  }

  @Test func theWildcardOfAMemberIsThatOfThoseItWaitsFor() throws {
    let members = try [
      Self.member("fetch.berlin", pattern: "fetch.*"),
      Self.member("report.berlin", after: ["fetch.${wildcard}"], pattern: "report.*"),
    ]
    #expect(try FlowPlan(members).waits[1].map(\.member) == [0])
    let other = try [
      Self.member("fetch.paris", pattern: "fetch.*"),
      Self.member("report.berlin", after: ["fetch.${wildcard}"], pattern: "report.*"),
    ]
    #expect(throws: FlowProblem.notInFlow(try #require(JobIdentifier("report.berlin")), awaited: "fetch.berlin")) {
      try FlowPlan(other)
    }
  }

  @Test func aJobThatTwoEntriesNameIsRefused() throws {
    let members = try [
      Self.member("fetch.berlin", pattern: "fetch.*"),
      Self.member("report.berlin", after: ["fetch.${wildcard}", "fetch.berlin"], pattern: "report.*"),
    ]
    #expect(throws: FlowProblem.afterTwice(try #require(JobIdentifier("report.berlin")), awaited: "fetch.berlin")) {
      try FlowPlan(members)
    }
  }

  @Test func whatComesByItselfIsRefused() throws {
    var repeating = Definition(pattern: try #require(IdentifierPattern("a")), kind: .processing)
    repeating.repeatEvery = .seconds(60)
    let name = try #require(JobIdentifier("a"))
    #expect(throws: FlowProblem.notForFlows(name, "has a 'repeat', so it comes by itself")) {
      try FlowPlan([FlowPlan.Member(name, of: repeating)])
    }
  }

  @Test("A row of 100,000 jobs is put into order, and a circle of as many is found")
  func longRows() {
    let count = 100_000
    let row = (0..<count).map { $0 + 1 < count ? [$0 + 1] : [] }
    #expect((try? FlowPlan.order(row).get())?.first == count - 1)
    guard case .failure(let circle) = FlowPlan.order((0..<count).map { [($0 + 1) % count] }) else {
      Issue.record("the circle was not found")
      return
    }
    #expect(circle.positions.count == count + 1)
  }

  @Test("Which end lets those after it start", arguments: Dependency.End.allCases)
  func ends(_ end: Dependency.End) {
    let met = RequestState.allCases.filter(end.isMet)
    switch end {
    case .success: #expect(met == [.succeeded])
    case .failure: #expect(met == [.failed])
    case .any: #expect(Set(met) == [.succeeded, .failed, .cancelled])
    }
  }
}
