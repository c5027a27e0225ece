package import BatonModel
package import BatonStore

extension Coordinator: OperatorAPI {
  package func submit(_ orders: [SubmissionOrder], by principal: String) async throws -> [SubmissionResult] {
    let submissions = orders.map { order in
      Submission(
        id: order.id, identifier: order.identifier, payload: order.payload,
        earliestBeginDate: order.earliestBeginDate, priority: order.priority, principal: principal, trace: .new())
    }
    let answers = try await translating { try await self.submit(submissions) }
    return zip(submissions, answers).map { submission, answer in
      switch answer {
      case .refused(let refusal): .refused(code: refusal.code, message: refusal.message)
      case .accepted(let receipt, _, let launch, let isRepeat):
        .accepted(
          receipt, traceID: isRepeat ? "" : submission.trace.traceID.hexadecimal,
          warning: launch == nil && receipt.state == .ready ? warning(for: receipt.identifier) : nil)
      }
    }
  }

  package func details(_ identifier: JobIdentifier, number: Int?) async throws -> RequestDetails {
    try await details(of: try await request(identifier, number: number))
  }

  private func details(of record: RequestRecord) async throws -> RequestDetails {
    async let launches = store.launches(of: record.id)
    async let events = store.events(of: record.id)
    return try await RequestDetails(record: record, launches: launches, events: events)
  }

  package func watch(
    _ identifier: JobIdentifier, number: Int?, _ body: @escaping @Sendable (RequestDetails) async throws -> Void
  ) async throws {
    try await watch(identifier, number: number) { (record: RequestRecord) in
      try await body(try await self.details(of: record))
    }
  }

  package func logs(
    _ identifier: JobIdentifier, number: Int?, launch: Int?, follows: Bool,
    _ body: @escaping @Sendable (Int, [UInt8]) async throws -> Void
  ) async throws {
    let first = try await request(identifier, number: number)
    var sent = SentOutput()
    try await watchers.watching(first.id) { signal in
      while !watchers.isClosed {
        try Task.checkCancellation()
        guard let record = try await store.request(first.id) else { return }
        for number in 1...max(1, record.launches) where launch == nil || launch == number {
          let output = try await store.output(of: LaunchKey(request: record.id, number: number))
          if let news = sent.news(of: number, output) { try await body(number, news) }
        }
        if !follows || record.state.isEnded { return }
        await signal.wait()
      }
    }
  }

  package func cancel(_ selection: CancelSelection, by principal: String) async throws -> [Cancellation] {
    switch selection {
    case .all: return try await cancel(RequestSelection.all, by: principal)
    case .identifier(let identifier, let number?):
      let record = try await request(identifier, number: number)
      return try await cancel(.request(record.id), by: principal)
    case .identifier(let identifier, nil):
      _ = try await request(identifier, number: nil)
      return try await cancel(RequestSelection.identifier(identifier), by: principal)
    }
  }

  package func hostReports() async throws -> [HostReport] {
    hosts().map { state, lastSeenAt in
      HostReport(
        name: state.host.name, state: state.reportState, version: state.version,
        capabilities: state.host.capabilities, conditions: state.host.conditions, usedSlots: state.host.usedSlots,
        running: state.launches.values.map(\.identifier).sorted(), lastSeenAt: lastSeenAt)
    }
  }

  package func explain(_ identifier: JobIdentifier, number: Int?) async throws -> Explanation {
    let record = try await request(identifier, number: number)
    let obstacles = try await obstacles(of: record)
    let lines = obstacles.map { one in
      Explanation.Line(
        host: one.host, code: one.obstacle.code, text: one.obstacle.text, remedy: one.obstacle.remedy,
        isPermanent: one.obstacle.isPermanent)
    }
    return Explanation(record: record, verdict: verdict(record, obstacles), lines: lines)
  }

  private func verdict(_ record: RequestRecord, _ obstacles: [HostObstacle]) -> Explanation.Verdict {
    if record.state == .running { return .running }
    if record.state.isEnded { return .ended }
    let hosts = Set(hosts().map(\.state.host.name))
    let impossible = Set(obstacles.filter(\.obstacle.isPermanent).compactMap(\.host))
    return !hosts.isEmpty && hosts.subtracting(impossible).isEmpty ? .impossible : .waiting
  }
}

/// How much of each launch's output was passed on. The store keeps the last 64 KiB, so the beginning may go while
/// somebody follows.
private struct SentOutput {
  private var last: [Int: [UInt8]] = [:]

  mutating func news(of launch: Int, _ output: [UInt8]) -> [UInt8]? {
    defer { last[launch] = output }
    guard let before = last[launch] else { return output.isEmpty ? nil : output }
    if output == before { return nil }
    if output.starts(with: before) { return Array(output[before.count...]) }
    let tail = before.suffix(1024)
    for start in stride(from: output.count - tail.count, through: 0, by: -1)
    where output[start..<start + tail.count] == tail {
      return Array(output[(start + tail.count)...])
    }
    return output
  }
}

extension HostState {
  var reportState: HostReport.State {
    if !host.hasLease { return .gone }
    if host.conditions.isPausedByOwner { return .paused }
    if host.isDraining { return .draining }
    return isConnected ? .ready : .away
  }
}
