import BatonProtobuf
import Testing

@testable import BatonCoordinator
@testable import BatonModel
@testable import BatonStore

@Suite struct NotificationReportTests {
  /// A notification as a job can make it: JSON writes each byte of its reason as six.
  private static func stored(_ reason: String) -> StoredNotification {
    StoredNotification(
      key: NotificationKey(subject: 1, position: 1, receiver: ReceiverName("ops")!), id: "9f2c-1-1",
      content: #"{"at":"","event":"failure","id":"9f2c-1-1","reason":"\#(reason)"}"#, at: Timestamp(nanoseconds: 0),
      attempts: 0, nextAt: Timestamp(nanoseconds: 0), error: nil, failedAt: nil)
  }

  @Test func `large notifications leave an answer that fits into a message`() throws {
    let large = Array(repeating: Self.stored(String(repeating: "\\u0001", count: 4096)), count: 1000)
    let now = Moment(Timestamp(nanoseconds: 0))
    var reports = NotificationReports()
    (reports.waiting, reports.failed) = (
      NotificationReports.fitting(large, at: now), NotificationReports.fitting(large, at: now)
    )
    #expect(reports.waiting.count > 50 && reports.waiting.count < 100)
    #expect(try reports.proto.report.count < 5 << 20)
    let small = Array(repeating: Self.stored("no disk"), count: 1000)
    #expect(NotificationReports.fitting(small, at: now).count == 1000)
  }
}
