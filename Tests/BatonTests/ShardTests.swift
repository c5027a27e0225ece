import BatonModel
import BatonStore
import Testing

@testable import BatonCoordinator
@testable import BatonJSON

/// What people and programs are told of a request that is divided into shards.
@Suite struct ShardTests {
  private static let name = RequestRecord.divided.identifier.rawValue

  private static let world = World([.divided, .running]) { state in
    state.details = [.divided, .example]
    state.shards = ShardRecord.examples
  }

  @Test(arguments: [
    ("list-divided", ["list"]), ("list-divided-jsonl", ["list", "-o", "jsonl"]), ("show-divided", ["show", name]),
    ("show-divided-shards", ["show", name, "--shards"]),
    ("show-divided-shards-json", ["show", name, "--shards", "-o", "json"]),
  ])
  func `output is golden`(name: String, arguments: [String]) async throws {
    try Golden.expect(await Self.world.baton(arguments).transcript, is: name)
  }

  @Test(arguments: [
    (ShardSummary(lanes: 4, lanesInUse: 1, total: 1, ready: 1), "0 of 1 shard done, 1 ready; 1 of 4 lanes in use"),
    (
      ShardSummary(lanes: 1, lanesInUse: 1, total: 64, running: 1, scheduled: 3, succeeded: 60, hosts: 1),
      "60 of 64 shards done, 1 running on 1 host, 3 waiting; 1 of 1 lane in use"
    ),
    (
      ShardSummary(lanes: 8, lanesInUse: 12, total: 14, running: 12, succeeded: 2, unitsLeft: 9, hosts: 3),
      "2 of 14 shards done, 12 running on 3 hosts; 12 of 8 lanes in use"
    ),
    (ShardSummary(lanes: 2, total: 4, succeeded: 4), "4 of 4 shards done"),
    (
      ShardSummary(lanes: 2, total: 4, succeeded: 1, failed: 1, cancelled: 2),
      "1 of 4 shards done, 1 failed, 2 stopped"
    ),
  ])
  func `a sentence counts the shards that there are, and the lanes until all shards have ended`(
    shards: ShardSummary, text: String
  ) {
    #expect(shards.text == text)
  }

  @Test func `a list names the only host on which shards run, and counts several`() async {
    func host(_ running: Int, on hosts: Int) async -> String {
      var record = RequestRecord.divided
      record.shards?.running = running
      record.shards?.hosts = hosts
      let lines = await World([record]).baton("list").output.split(separator: "\n")
      // At least two spaces stand between columns.
      let rows = lines.map { line in line.split(separator: /\s\s+/).map(String.init) }
      return rows[0].firstIndex(of: "HOST").map { rows[1][$0] } ?? ""
    }
    #expect(await host(2, on: 2) == "2 hosts")
    #expect(await host(3, on: 1) == "alpha")
    #expect(await host(0, on: 0) == "alpha", "where it ran last")
  }

  @Test func `of many launches show has the last twenty, and says where the shards are`() async {
    var details = RequestDetails.divided
    let launch = details.launches[0]
    details.launches = (0..<25).map { index in
      var one = launch
      (one.launch.request, one.shard) = (RequestID(8 + Int64(index)), index)
      return one
    }
    let world = World { [details] in $0.details = [details] }
    let lines = await world.baton("show", Self.name).output.split(separator: "\n")
    let table = lines.drop { !$0.hasPrefix("SHARD") }.dropFirst()
    let shards = table.prefix(20).map { row in row.split(separator: " ").first.flatMap { Int($0) } }
    #expect(shards == Array(5..<25))
    #expect(table.dropFirst(20).first == "the last 20 launches; --shards lists the shards")
    let json = await world.baton("show", Self.name, "-o", "jsonl").output
    #expect(json.matches(of: /"firstBatch":/).count == 25, "programs get all of them")
  }

  @Test func `a request that was not divided has no shards to list`() async {
    let run = await Self.world.baton("show", "com.example.photos.export.42", "--shards")
    #expect(run.status == 3)
    #expect(
      run.error == "error: com.example.photos.export.42, request 3 has no shards: its definition does not say "
        + "'work.spread'\n")
    let json = await Self.world.baton("show", "com.example.photos.export.42", "-o", "jsonl").output
    #expect(json.contains(#""shards":null"#), "\(json)")
  }

  @Test func `shards are read page by page`() async {
    let world = World { state in
      state.details = [.divided]
      state.shards = (0..<2500).map { ShardRecord(id: RequestID(Int64($0)), index: $0, state: .ready, first: 0) }
    }
    let run = await world.baton("show", Self.name, "--shards", "-o", "jsonl")
    #expect(run.output.matches(of: /"shard":\d+,"state":"ready"/).count == 2500)
    #expect(world.coordinator.calls.count { $0.hasPrefix("shards ") } == 4, "\(world.coordinator.calls)")
  }
}
