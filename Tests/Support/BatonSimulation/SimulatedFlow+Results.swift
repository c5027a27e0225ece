import BatonModel
import BatonStore

extension Schedule {
  /// What a member of a flow gives with a batch: each second batch gives a result, which names the request and the
  /// batch. So every launch of a request gives the same, and the result may be that of a batch before the last one.
  static func result(of request: RequestID, _ identifier: JobIdentifier, batch: Int) -> JobResult? {
    guard flow.contains(identifier), (request.rawValue + Int64(batch)) % 2 == 0 else { return nil }
    return JobResult(trusted: Array("\"\(request.rawValue) \(batch)\"".utf8))
  }

  /// The result of a request that has succeeded.
  fileprivate static func result(of record: RequestRecord) -> JobResult? {
    (0..<record.progress.batches).reversed().lazy.filter { !record.skippedBatches.contains($0) }
      .compactMap { result(of: record.id, record.identifier, batch: $0) }.first
  }
}

extension World {
  /// Checks that each launch of a member gets the last result of each request that it waited for, after each fault.
  func checkInputs(_ assignment: Assignment) throws {
    guard Schedule.flow.contains(assignment.identifier), aftermath == nil else { return }
    let (record, awaited) = try store.transaction { verbs in
      let record = try verbs.request(assignment.launch.request)
      return (record, try (record?.waitsFor ?? []).map { ($0, try verbs.request($0.request)) })
    }
    guard let record, record.flow != nil else {
      return try journal.expect(
        assignment.inputs.isEmpty, .message, "\(assignment.launch) is in no flow, and has inputs")
    }
    if !journal.everRetried.contains(record.id), awaited.count > 0 {
      try journal.expect(
        assignment.inputs.count == awaited.count && awaited.count == Schedule.waits(of: assignment.identifier),
        .retention, "\(assignment.launch) has \(assignment.inputs.count) inputs, and waited for \(awaited.count)")
    }
    for input in assignment.inputs {
      let found = awaited.first { $0.0.identifier == input.identifier && $0.0.number == input.number }
      guard let (wait, request) = found else {
        throw journal.violation(.message, "\(assignment.launch) has an input that it did not wait for: \(input)")
      }
      if let request { try check(input, of: assignment.launch, wait, request) }
    }
  }

  private func check(
    _ input: RequestInput, of launch: LaunchKey, _ wait: AwaitedRequest, _ request: RequestRecord
  ) throws {
    try journal.expect(
      wait.end.isMet(by: input.state), .outcome, "\(launch) waited for \(wait.end), and is told \(input.state)")
    guard input.state == .succeeded else {
      return try journal.expect(
        input.result == nil, .outcome, "\(launch) gets the result of \(request.id), which failed")
    }
    let wanted = Schedule.result(of: request)
    count(.client, wanted == nil ? "an input without a result" : "an input with a result")
    try journal.expect(
      request.state == .succeeded && input.result == wanted, .checkpointLost,
      "\(launch) gets \(input.result?.text ?? "nothing") of request \(request.id), not \(wanted?.text ?? "nothing")")
  }
}

extension Schedule {
  fileprivate static func waits(of identifier: JobIdentifier) -> Int {
    identifier == flow[0] ? 0 : identifier == flow[3] ? 2 : 1
  }
}
