import BatonCoordinator
import BatonModel
import BatonStore

/// A submission through the socket of a launch: `baton submit` in a command that a worker runs. The launch itself is
/// the permission, so no coordinator, login or token has to be named.
struct SubmittingFromLaunch: Sendable {
  /// The variable that a worker sets for commands of definitions with `maySubmit`.
  static let variable = "BATON_SUBMIT_SOCKET"

  /// The path of the socket.
  let socket: String

  /// - Returns: `nil` outside of launches, and if the person names a coordinator or a fleet.
  init?(_ environment: CommandEnvironment, _ client: ClientOptions) {
    guard client.coordinator == nil, client.fleet == nil, let socket = environment.variable(Self.variable) else {
      return nil
    }
    self.socket = socket
  }

  /// Submits one request, and writes the answer.
  /// - Parameter name: what the submission is called within the request of the launch; `nil` for its identifier.
  /// - Throws: `CommandFailure` without a message if it was refused.
  func run(_ order: SubmissionOrder, name: String?, _ options: SubmissionOptions, _ console: Console) async throws {
    if options.wait {
      throw CommandFailure(
        .usage,
        "a launch cannot wait for what it submits, because it may only submit: leave --wait out, or name a fleet that "
          + "you are logged in to with --fleet")
    }
    let submission = LaunchSubmission(
      name: name ?? order.identifier.rawValue, identifier: order.identifier, payload: order.payload,
      earliestBeginDate: order.earliestBeginDate, priority: order.priority, parent: order.parent)
    if let problem = submission.problem { throw CommandFailure(.usage, problem) }
    let (result, isRepeat) = try await console.environment.backend.submit(submission, name: name, throughSocket: socket)
    console.tell(
      [SubmissionOutcome(order: order, result: result)], options.options,
      remark: isRepeat ? "this request had submitted it before" : nil, isList: false, awaitsEnd: false)
    if case .refused(let code, _) = result { throw CommandFailure(ExitStatus(refusalCode: code)) }
  }
}
