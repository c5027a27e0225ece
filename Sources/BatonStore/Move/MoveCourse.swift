internal import Synchronization

/// Stops a move, from any thread.
package final class MoveControl: Sendable {
  private enum Phase { case running, stopped, cannotStop }
  private let phase = Mutex(Phase.running)

  package init() {}

  /// Stops the move before its next step, and then nothing has changed. A move that is about to leave its old place, or
  /// that has left it, goes on.
  package func stop() { phase.withLock { if $0 == .running { $0 = .stopped } } }

  var isStopped: Bool { phase.withLock { $0 == .stopped } }

  func demandGoingOn() throws { if isStopped { throw CancellationError() } }

  /// From now on `stop` has no effect. Throws `CancellationError` if the move was stopped before.
  func passPointOfNoReturn() throws {
    try phase.withLock { phase in
      if phase == .stopped { throw CancellationError() }
      phase = .cannotStop
    }
  }
}

/// Lets one move of a store be under way at a time.
final class MoveTurn: Sendable {
  private let current = Mutex<MoveControl?>(nil)

  /// Runs `body`, and stops the move if the task is cancelled.
  /// - Throws: `.refused` if another move is under way; what `body` throws.
  func run<Result: Sendable>(
    _ options: StoreMove.Options, _ body: @Sendable () async throws -> Result
  ) async throws -> Result {
    try current.withLock { current in
      guard current == nil else { throw StoreError(.refused, "The store is being moved already; wait for its end.") }
      current = options.control
    }
    defer { current.withLock { $0 = nil } }
    return try await withTaskCancellationHandler {
      do {
        return try await body()
      } catch {
        throw MoveCourse.error(error, options.control)
      }
    } onCancel: {
      options.control.stop()
    }
  }

  /// Stops the move that is under way, unless it is about to leave.
  func stop() { current.withLock { $0?.stop() } }
}

/// How far a move is: it tells people, and notices that it was stopped. One thread uses it.
final class MoveCourse {
  let options: StoreMove.Options
  private var progress = StoreMove.Progress()
  private let begun = ContinuousClock.now

  init(_ options: StoreMove.Options) { self.options = options }

  var control: MoveControl { options.control }
  var isRehearsal: Bool { options.isRehearsal }

  func begin(totalRows: Int) {
    progress.totalRows = totalRows
    options.report(progress)
  }

  /// Rows of a table were copied, or compared.
  func advance(_ rows: Int, of table: String) throws {
    try control.demandGoingOn()
    progress.rows += rows
    progress.table = table
    options.report(progress)
  }

  func reached(_ step: StoreMove.Step) throws {
    progress.reached = step
    progress.table = ""
    progress.rows = step == .copied ? 0 : progress.totalRows
    options.report(progress)
    try options.reached(step)
    if [.copied, .verified, .arrived].contains(step) { try control.demandGoingOn() }
  }

  /// The error for the caller of a move that threw `error`. A move that was stopped had not left its place.
  static func error(_ error: any Error, _ control: MoveControl) -> any Error {
    error is CancellationError || control.isStopped ? CancellationError() : StoreError(anything: error)
  }
}
