import BatonModel
import BatonStore

/// A model of the units of requests that are divided: over the whole request each unit is in exactly one committed
/// batch of exactly one shard. It is checked at every commit, and at the end of every request.
extension Journal {
  /// Records that a shard has committed a batch, and checks that no other shard has these units.
  func commit(_ batch: Int, of launch: LaunchKey, _ request: Request) throws {
    guard let shard = request.shard else { return }
    let size = Int64(request.definition.work?.batchSize ?? 1)
    let first = shard.first + Int64(batch) * size
    try expect(
      shard.end.map { first < $0 } ?? true, .units,
      "\(launch) committed the unit \(first), and its shard ends at \(shard.end ?? 0)")
    let owner = divisions[request.head]?.owners[first]
    try expect(
      owner == nil, .units, "\(launch) committed the unit \(first), which row \(owner?.rawValue ?? 0) has committed")
    divisions[request.head]?.owners[first] = launch.request
  }

  /// Records the shard of a launch that starts, and checks that a lane is free.
  func started(_ assignment: Assignment, _ request: inout Request) throws {
    guard let shard = assignment.shard else { return }
    if divisions[assignment.head] == nil {
      divisions[assignment.head] = Division(
        lanes: lanesBefore[assignment.head] ?? request.definition.spread?.lanes ?? 1)
    }
    try expect(
      request.shard.map { known in
        known.first == shard.first && (known.end.map { end in shard.end.map { $0 <= end } ?? false } ?? true)
      } ?? true, .units,
      "\(assignment.launch) has the units \(shard), and had \(request.shard.map { "\($0)" } ?? "none")")
    (request.head, request.shard) = (assignment.head, shard)
    let running = requests.count { $0.value.head == assignment.head && $0.value.open != nil }
    let lanes = divisions[assignment.head]?.lanes ?? 1
    try expect(
      running < lanes, .lanes, "\(assignment.launch) started while \(running) of \(lanes) lanes were in use")
    try expect(
      divisions[assignment.head]?.isOver != true, .completion,
      "\(assignment.launch) started, and its request has ended")
    try expect(
      divisions[assignment.head]?.isStopping != true, .completion,
      "\(assignment.launch) started, and its request was cancelled, or a failed shard stops it")
    try expect(
      divisions[assignment.head]?.succeeded.contains(assignment.launch.request) != true, .completion,
      "\(assignment.launch) started, and its shard has succeeded")
  }

  /// Records that a shard has ended for good.
  func ended(_ row: RequestID, _ request: Request, as state: RequestState) {
    if state == .succeeded { divisions[request.head]?.succeeded.insert(row) }
    if state == .failed, request.definition.spread?.onShardFailure == .stop {
      divisions[request.head]?.isStopping = true
    }
  }

  /// Checks a request that has ended with the end of a shard: every unit was done, unless a shard failed.
  func checkDivision(_ head: RequestID, _ state: RequestState) throws {
    guard let request = requests[head], let division = divisions[head], state.isEnded else { return }
    divisions[head]?.isOver = true
    let open = requests.filter { $0.value.head == head && $0.value.open != nil }
    try expect(open.isEmpty, .completion, "\(head) ended while \(open.keys.sorted()) run")
    guard state == .succeeded else { return }
    let size = Int64(request.definition.work?.batchSize ?? 1)
    let total = Int64(schedule.batches[request.identifier, default: 1])
    let missing = (0..<total).first { division.owners[$0 * size] == nil }
    try expect(missing == nil, .units, "\(head) succeeded, and the batch \(missing ?? 0) is in no shard")
    try expect(
      division.owners.count == Int(total), .units,
      "\(head) succeeded with \(division.owners.count) batches where \(total) are")
  }

  /// The rows of a request and of its shards.
  func rows(of head: RequestID) -> [RequestID] { requests.filter { $0.value.head == head }.keys.sorted() }

  /// An operator has changed how many shards may be in work at once.
  func spreadChanged(of head: RequestID, to lanes: Int, _ answer: SpreadAnswer) {
    if let division = divisions[head], lanes < division.lanes { divisions[head]?.wasLowered = true }
    divisions[head]?.lanes = lanes
    lanesBefore[head] = lanes
    for stop in answer.stops { noted(stop.reason, of: stop.launch) }
  }
}
