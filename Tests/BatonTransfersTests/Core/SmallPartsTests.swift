import BatonBase
import BatonModel
import BatonProcess
import ContractRows
import Testing

@testable import BatonTransfers

/// The small decisions of transfers: dates, waits, rates, conditions, files and deadlines.
@Suite struct SmallPartsTests {
  // MARK: Dates

  @Test(arguments: [
    ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
    ("Tue, 29 Feb 2000 23:59:60 GMT", 951_868_800), ("Fri, 15 Jan 2027 08:00:00 GMT", 1_800_000_000),
  ]) func `a date of HTTP is read`(text: String, seconds: Int64) {
    #expect(HTTPDate.parse(text) == Timestamp(nanoseconds: seconds * 1_000_000_000))
  }

  @Test(arguments: [
    "", "0", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Sun, 06 Nov 1994 08:49:37 CET",
    "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, 06 Non 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov 99999 08:49:37 GMT", "Sun, -6 Nov 1994 08:49:37 GMT",
  ]) func `another text is no date of HTTP`(text: String) {
    #expect(HTTPDate.parse(text) == nil)
  }

  // MARK: Waits

  @Test func `the waits double up to their longest, and transfers that broke together are spread`() {
    let keys = (0..<200).map { TransferKey(request: RequestID(1), index: $0) }
    for failures in 0..<20 {
      let whole = min(Duration.seconds(600), .seconds(1 << failures))
      let waits = keys.map { Backoff.wait(after: failures, of: $0) }
      #expect(waits.allSatisfy { $0 <= whole && $0 > whole * 3 / 4 })
      #expect(Set(waits).count > 50)
    }
    #expect(Backoff.wait(after: .max, of: keys[0]) > .seconds(450))
  }

  // MARK: Rates

  @Test func `a bucket holds its rate over many small pieces, and gives no more after a silence`() {
    var bucket = TokenBucket(rate: 1000, at: Samples.start.instant)
    var now = Samples.start.instant
    for _ in 0..<100 { now = now + bucket.take(100, at: now) }
    // 10,000 bytes, of which the first 250 were free.
    let length = now - Samples.start.instant
    #expect(length > .milliseconds(9749) && length < .milliseconds(9751))
    now = now + .seconds(1000)
    #expect(bucket.take(250, at: now) == .zero)
    #expect(bucket.take(1000, at: now) == .seconds(1))
  }

  @Test func `a clock that goes back gives no bytes, and takes none`() {
    var bucket = TokenBucket(rate: 1000, at: Samples.now(10).instant)
    _ = bucket.take(1250, at: Samples.now(10).instant)
    #expect(bucket.take(0, at: Samples.now(5).instant) == .seconds(1))
    #expect(bucket.take(0, at: Samples.now(11).instant) == .zero)
  }

  // MARK: Conditions

  private typealias ConditionsCase = (TransferConditions, TransferWait?, TransferWait?, TransferWait?)
  private static let conditions: [ConditionsCase] = [
    (TransferConditions(), nil, nil, nil),
    (TransferConditions(network: .unavailable), .network, .network, .network),
    (TransferConditions(network: .metered), nil, .unmeteredNetwork, .unmeteredNetwork),
    (TransferConditions(isConstrained: true), nil, nil, .unconstrainedNetwork),
    (TransferConditions(hasExternalPower: false), nil, .externalPower, nil),
    (TransferConditions(isIdle: false), nil, .idle, nil),
    (TransferConditions(isLent: false), .owner, .owner, .owner),
  ]

  @Test(.contract(37.3), arguments: conditions)
  func `a discretionary transfer needs more of its host than another`(
    conditions: TransferConditions, usual: TransferWait?, discretionary: TransferWait?, careful: TransferWait?
  ) {
    #expect(conditions.obstacle(to: Samples.get) == usual)
    var transfer = Samples.get
    transfer.isDiscretionary = true
    #expect(conditions.obstacle(to: transfer) == discretionary)
    transfer = Samples.get
    (transfer.network, transfer.allowsConstrained) = (.unmetered, false)
    #expect(conditions.obstacle(to: transfer) == careful)
  }

  // MARK: Files

  @Test func `a file is compared with what its transfer says`() {
    var transfer = Samples.get
    func problem(isWhole: Bool) -> AttemptEnd? {
      FileCheck.problem(of: transfer, bytes: 10, sha256: Samples.hash, isWhole: isWhole)
    }
    func code(_ end: AttemptEnd?) -> TransferFailure.Code? {
      if case .failed(let failure)? = end { failure.code } else { nil }
    }
    (transfer.size, transfer.sha256) = (10, Samples.hash)
    #expect(problem(isWhole: true) == nil)
    transfer.size = 9
    #expect(code(problem(isWhole: true)) == .wrongSize)
    (transfer.size, transfer.sha256) = (nil, String(repeating: "00", count: 32))
    #expect(code(problem(isWhole: true)) == .wrongHash)
    // A file of several pieces is fetched once more, as a whole: the pieces may be of different versions.
    guard case .startOver(_, rangesLie: true)? = problem(isWhole: false) else {
      Issue.record("a wrong file of several pieces is not fetched again")
      return
    }
  }

  @Test(arguments: [ENOSPC, EDQUOT]) func `a full disk is no end for good`(code: Int32) {
    guard case .noRoom("x") = AttemptEnd.of(SystemError(.failed, "x", cause: code)) else {
      Issue.record("a full disk ends the transfer")
      return
    }
  }

  @Test(arguments: [EACCES, EROFS, EIO, nil]) func `another error of the disk ends the transfer`(code: Int32?) {
    guard case .failed(let failure) = AttemptEnd.of(SystemError(.failed, "x", cause: code)) else {
      Issue.record("an error of the disk is tried again")
      return
    }
    #expect(failure.code == .file)
  }

  // MARK: Deadlines

  @Test func `the deadline counts from the order, also after a reboot`() {
    var transfer = Samples.get
    transfer.resourceTimeout = .seconds(100)
    let record = Samples.record(transfer)
    #expect(record.deadline(boot: "boot", at: Samples.now(30)) == Samples.now(100).instant)
    // After a reboot the monotonic clock has another zero, and the wall clock tells how much time is left.
    let later = Now(instant: Instant(nanoseconds: 5), date: Samples.date + .seconds(30))
    #expect(record.deadline(boot: "other", at: later) - later.instant == .seconds(70))
    // A wall clock that went back has not made the time longer.
    let earlier = Now(instant: Instant(nanoseconds: 5), date: Samples.date + .seconds(-30))
    #expect(record.deadline(boot: "other", at: earlier) - earlier.instant == .seconds(100))
  }
}
