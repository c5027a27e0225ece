import BatonModel

/// The calls about notifications.
extension PermittedAPI {
  /// A caller with patterns sees only what is told of jobs that its patterns cover, and counts that. It sees no
  /// addresses of receivers: they are the fleet's, and may name people.
  func notifications() async throws -> NotificationReports {
    var reports = try await api.notifications()
    guard caller.limits != nil else { return reports }
    func isHidden(_ report: NotificationReport) -> Bool {
      report.facts.identifier.map { !caller.covers(IdentifierPattern($0)) } ?? true
    }
    reports.waiting.removeAll(where: isHidden)
    reports.failed.removeAll(where: isHidden)
    (reports.waitingCount, reports.failedCount) = (reports.waiting.count, reports.failed.count)
    for index in reports.receivers.indices { reports.receivers[index].place = "" }
    return reports
  }

  func testReceiver(_ name: ReceiverName) async throws -> ReceiverAnswer {
    try await checkUnlimited("TestReceiver", name.rawValue)
    return try await changing("TestReceiver", name.rawValue) { try await api.testReceiver(name) }
  }
}
