import BatonModel
import ContractRows
import Testing

@Suite("The transfers of a request decide when it is launched")
struct TransferBookTests {
  @Test func `a report is said in messages, and what was said of the room is not said again`() {
    let statuses = (0..<TransferReport.most + 1).map { index in
      TransferStatus(
        key: TransferKey(request: RequestID(1), index: index), state: .running, orderedAt: Timestamp(nanoseconds: 1))
    }
    let report = TransferReport(statuses: statuses, isOutOfRoom: true)
    let messages = report.messages(afterRoom: false)
    #expect(messages.map(\.statuses.count) == [TransferReport.most, 1])
    #expect(messages.map(\.isOutOfRoom) == [true, nil])
    #expect(messages.flatMap(\.statuses) == statuses)
    #expect(report.messages(afterRoom: true).map(\.isOutOfRoom) == [nil, nil])
    #expect(TransferReport(isOutOfRoom: false).messages(afterRoom: nil) == [TransferReport(isOutOfRoom: false)])
    #expect(TransferReport(isOutOfRoom: false).messages(afterRoom: false) == [])
  }

  @Test(arguments: ["..", "a/../b", "../\u{301}x", "a/\u{301}b", "a//b", "", "a/"])
  func `what is no path of a file is refused`(path: String) { #expect(!Transfer.isPath(path)) }

  @Test(arguments: ["a", "/a/b", "e\u{301}/ö", "..a/b.."])
  func `what is a path of a file is not`(path: String) { #expect(Transfer.isPath(path)) }

  @Test func `what keeps further transfers from a host is the number of its requests, and its room`() {
    let most = Policy.transferRequestsOnHost
    #expect(Policy.obstaclesToTransfers(requests: most - 1, isOutOfRoom: false) == [])
    #expect(Policy.obstaclesToTransfers(requests: most, isOutOfRoom: false) == [.transfersFull(limit: most)])
    #expect(
      Policy.obstaclesToTransfers(requests: most + 1, isOutOfRoom: true)
        == [.transfersFull(limit: most), .transfersOutOfRoom])
  }

  private func entry(
    _ index: Int, _ group: String = "a", ended: Bool = true, told: Int? = nil, acknowledged: Bool = false
  ) -> TransferBook.Entry {
    TransferBook.Entry(index, group: group, hasEnded: ended, told: told, isAcknowledged: acknowledged)
  }

  @Test("a group is told when its last transfer has ended, and another group waits", .contract(39.1))
  func groups() {
    var book = TransferBook([entry(0), entry(1, ended: false), entry(2, "b", ended: false)])
    #expect(book.turn == .wait && book.events.isEmpty)
    book.entries[1].hasEnded = true
    #expect(book.turn == .launch)
    #expect(book.events.map(\.index) == [0, 1] && book.news.map(\.index) == [0, 1])
    for index in 0...1 { (book.entries[index].told, book.entries[index].isAcknowledged) = (1, true) }
    #expect(book.turn == .wait, "group b has not ended")
    #expect(book.news.isEmpty && book.events.map(\.index) == [0, 1])
    book.entries[2].hasEnded = true
    #expect(book.turn == .launch && book.news.map(\.index) == [2])
    book.entries[2].isAcknowledged = true
    #expect(book.turn == .none)
  }

  @Test("a launch acknowledges what it was told, and nothing else", .contract(38.2))
  func acknowledges() {
    let book = TransferBook([entry(0, told: 1), entry(1, told: 2), entry(2), entry(3, told: 2, acknowledged: true)])
    #expect(book.acknowledged(by: 2).map(\.index) == [1])
  }

  @Test("transfers are numbered in the order in which they are added")
  func numbers() {
    #expect(TransferBook([]).next(2) == 0..<2)
    #expect(TransferBook([entry(0), entry(4)]).next(3) == 5..<8)
  }

  @Test("a request without transfers waits for none")
  func empty() { #expect(TransferBook([]).turn == .none) }

  @Test("the delays double up to the longest, and begin again after a quiet time", .contract(40.1, 40.2))
  func limiter() {
    var limiter = TransferLimiter()
    let rules = TransferLimiter.Rules(first: .seconds(1), longest: .seconds(10), quiet: .seconds(100))
    var now = Timestamp(nanoseconds: 0)
    var delays: [Duration] = []
    for _ in 0..<7 {
      delays.append(limiter.launch(at: now, rules))
      now = now + delays[delays.count - 1] + .seconds(99)
    }
    #expect(delays == [.zero, .seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(10), .seconds(10)])
    now = now + .seconds(1)
    #expect(limiter.launch(at: now, rules) == .zero)
    #expect(limiter.launches == 1 && limiter.last == now)
  }

  @Test("a delay of a definition counts from the submission")
  func delays() {
    let submitted = Timestamp(nanoseconds: 5_000_000_000)
    let transfer = Transfer(url: "https://example.com/a", to: "a")
    #expect(DefinedTransfer(transfer).resolved(submittedAt: submitted) == transfer)
    let late = DefinedTransfer(transfer, delay: .seconds(3)).resolved(submittedAt: submitted)
    #expect(late.earliestBeginDate == Timestamp(nanoseconds: 8_000_000_000))
  }
}
