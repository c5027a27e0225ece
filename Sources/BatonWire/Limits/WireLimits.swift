import BatonModel

/// A limit on one value that another process sends, and what happens if the value exceeds it.
package struct WireLimit: Hashable, Sendable {
  package enum Unit: String, Hashable, Sendable {
    case bytes, characters
    /// The number of elements, without a unit.
    case count = ""
  }

  /// The name of the value, as a table or an error message shows it.
  package let name: String
  package let most: Int
  package let unit: Unit
  /// What happens if the value exceeds the limit, as a table shows it.
  package let consequence: String

  fileprivate init(_ name: String, _ most: Int, _ unit: Unit, _ consequence: String) {
    (self.name, self.most, self.unit, self.consequence) = (name, most, unit, consequence)
  }

  /// Throws an error that names the limit if `count` is more than `most`.
  package func check(_ count: Int) throws(WireError) {
    guard count > most else { return }
    throw WireError("\(name): \(count)\(words) were received, and the limit is \(most)")
  }

  /// Throws an error that names the limit if the UTF-8 of `text` has more than `most` bytes.
  package func check(_ text: String) throws(WireError) { try check(text.utf8.count) }

  /// Checks the length of a text that is a name, and throws an error if it contains a control character, which a
  /// terminal or a log could execute.
  package func check(name text: String) throws(WireError) {
    try check(text)
    guard text.unicodeScalars.allSatisfy(\.isPrintable) else {
      throw WireError("\(name): control characters are not allowed in '\(text.escapedOnOneLine)'")
    }
  }

  private var words: String { unit == .count ? "" : " \(unit.rawValue)" }
}

/// The table of all limits on what other processes send. A worker's message is checked against it when it arrives
/// (`WorkerMessage.heldToLimits`), an operator's call where its arguments are read. `Documentation/reference/limits.md`
/// shows the table.
package enum WireLimits {
  private static let refusesWorker = "the worker is refused, with the reason in its log"
  private static let closes = "the connection is closed, with the reason on both sides"
  private static let refusesCall = "the call is refused (`INVALID_ARGUMENT`; exit 64)"
  private static let cuts = "cut off"
  private static let failsLaunch = "the launch fails, and its error names the limit"

  // MARK: A worker's hello

  /// A host's name must match `[A-Za-z0-9][A-Za-z0-9._-]{0,62}`: a terminal or a file system cannot take such a name
  /// for a command or for a path like `.` or `..`.
  package static let hostName = WireLimit("host name", HostName.maximumBytes, .bytes, refusesWorker)
  package static let incarnation = WireLimit("incarnation of a worker", 64, .bytes, refusesWorker)
  package static let version = WireLimit("version of a worker", 64, .bytes, refusesWorker)
  package static let secret = WireLimit("secret of a worker", 64, .bytes, refusesWorker)
  package static let receipts = WireLimit("receipts of a worker", Receipt.maximumKept, .count, refusesWorker)
  package static let sandboxProblem = WireLimit("why a host gives no sandbox", 255, .bytes, refusesWorker)
  /// All texts of the hello together. The launches in it have a limit of their own.
  package static let hello = WireLimit("hello, without its launches", 64 << 10, .bytes, refusesWorker)
  package static let runningLaunches = WireLimit("launches in a hello", 100_000, .count, refusesWorker)
  package static let launchGPUs = WireLimit("GPUs of one launch", 64, .count, refusesWorker)
  package static let slots = WireLimit("slots of a host", 100_000, .count, refusesWorker)

  // MARK: Conditions

  package static let labels = WireLimit("labels of a host", 64, .count, closes)
  package static let labelName = WireLimit("name of a label", 63, .bytes, closes)
  package static let labelValue = WireLimit("value of a label", 255, .bytes, closes)
  package static let gpus = WireLimit("GPUs of a host", 64, .count, closes)
  /// The most memory that a GPU can have, in bytes (1 PiB). A larger number is brought down to it, so that the sum over
  /// all GPUs of a host cannot overflow.
  package static let largestGPU: Int64 = 1 << 50
  package static let gpuText = WireLimit("id or name of a GPU", 255, .bytes, closes)
  package static let owner = WireLimit("who paused a host", 255, .bytes, closes)
  package static let readingText = WireLimit("source or raw text of a condition", 1024, .bytes, cuts)

  // MARK: Launches

  package static let frame = WireLimit("messages in one frame", 2048, .count, closes)
  package static let text = WireLimit("title or subtitle of a launch", 200, .characters, cuts)
  /// A single character of text may have any number of bytes, so the bytes are limited too.
  package static let textBytes = WireLimit("title or subtitle of a launch, in bytes", 1600, .bytes, cuts)
  package static let failure = WireLimit("message of a failure", 4 << 10, .bytes, cuts)
  package static let detail = WireLimit("detail of an expiry, type of an error", 255, .bytes, cuts)
  package static let output = WireLimit(
    "output of a launch in one message", 64 << 10, .bytes, "the beginning is dropped")
  package static let item = WireLimit("one item", (128 << 10) - 1, .bytes, closes)
  package static let pageItems = WireLimit("items in one page", ItemPage.maximumItems, .count, failsLaunch)
  package static let requestItems = WireLimit("items of a request", ItemPage.maximumTotal, .count, failsLaunch)
  package static let requestItemBytes = WireLimit(
    "items of a request, in bytes", ItemPage.maximumTotalBytes, .bytes, failsLaunch)

  package static let launchSubmission = WireLimit(
    "name of a launch's submission", LaunchSubmission.longestName, .bytes, closes)
  package static let launchPayload = WireLimit(
    "payload of a launch's submission", Submission.maximumPayloadBytes, .bytes, closes)

  package static let result = WireLimit(
    "result of a job", JobResult.maximumBytes, .bytes, "the launch fails; a worker that sends it is disconnected")

  // MARK: Transfers

  package static let transfers = WireLimit("transfers that a launch adds with one checkpoint", 1000, .count, closes)
  package static let transfer = WireLimit("a transfer, or what a host says of it", 192 << 10, .bytes, closes)
  package static let transferStatuses = WireLimit(
    "transfers that a host tells of in one message", TransferReport.most, .count, closes)

  // MARK: Operators

  package static let principal = WireLimit("principal: who submits, pokes or cancels", 255, .bytes, refusesCall)
  package static let submissionID = WireLimit("id of a submission", 64, .bytes, refusesCall)
  package static let payload = WireLimit("payload", Submission.maximumPayloadBytes, .bytes, refusesCall)
  package static let submissions = WireLimit("submissions in one call", 1000, .count, refusesCall)
  package static let definitions = WireLimit("definitions in one call", 1000, .count, refusesCall)
  package static let states = WireLimit("states in the filter of a list", 16, .count, refusesCall)
  package static let hostArgument = WireLimit("name of a host in a call", 255, .bytes, refusesCall)
  package static let hostTerms = WireLimit("labels and conditions in the filter of hosts", 64, .count, refusesCall)
  package static let comparedDefinitions = WireLimit(
    "definitions that are compared with all hosts in one call", 20, .count, refusesCall)
  package static let hostNumber = WireLimit("number of a host that waits", 6, .bytes, refusesCall)
  package static let storePlace = WireLimit(
    "address or folder of a store", 2048, .bytes, "the move is refused (`INVALID_ARGUMENT`; exit 64)")
  package static let certificate = WireLimit("certificate of a host", 4096, .bytes, refusesCall)

  /// All limits, in the order in which the page lists them.
  package static let all = [
    hostName, incarnation, version, secret, receipts, sandboxProblem, hello, runningLaunches, launchGPUs, slots, labels,
    labelName, labelValue,
    gpus,
    gpuText, owner, readingText, frame, text, textBytes, failure, detail, output, item, pageItems, requestItems,
    requestItemBytes, launchSubmission, launchPayload, result,
    transfers, transfer, transferStatuses, principal, submissionID, payload, submissions, definitions, states,
    hostArgument,
    hostTerms, comparedDefinitions,
    hostNumber, storePlace, certificate,
  ]

  /// The range of units of progress. The upper end is the largest number that every reader of JSON represents exactly.
  package static let units: ClosedRange<Int64> = 0...(1 << 53)
  /// The longest duration that a message may contain; longer ones are cut to it.
  package static let longest = Duration.seconds(10 * 365 * 86_400)
}
