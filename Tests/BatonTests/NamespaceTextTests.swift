import BatonModel
import BatonStore
import Testing

@testable import BatonCoordinator

@Suite struct NamespaceTextTests {
  @Test func `explain says how the namespace of the request stands`() async {
    let world = World(RequestRecord.all) { state in
      state.explanation.order = Explanation.Order(
        hasRecentUse: false, classesAhead: 1,
        namespace: Explanation.NamespaceStanding(
          prefix: "com.example", weight: 2, use: 7_200, useOfAll: 14_400, ahead: ["", "org.example"]))
    }
    let run = await world.baton(["explain", "com.example.gpu"])
    let text = run.output.split(separator: "\n").joined(separator: " ")
    #expect(text.contains("namespace com.example (weight 2): used 2.0 slot-hours, 50 % of all use;"), "\(run.output)")
    #expect(text.contains("before it: what belongs to no namespace, org.example"), "\(run.output)")
  }
}
