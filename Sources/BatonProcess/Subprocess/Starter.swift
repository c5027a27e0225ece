import BatonBase
import CBatonProcess
import Synchronization

/// Starts processes through `baton-exec --serve` (Sources/baton-exec/serve.c), which forks for each. It is started with
/// the first process, started again if it has died, and ends with this object.
final class Starter: Sendable {
  /// The path of `baton-exec`.
  private let helper: String
  private let state = Mutex<Connection?>(nil)

  private struct Connection {
    let pid: Int32
    let socket: OpenFile
  }

  /// What the starter's greeting has to say (serve.c).
  private static let version: Int32 = 1
  /// How long the starter may take for an answer, in seconds. A fork takes much less, also on a busy host.
  private static let patience: Int32 = 10
  /// The most bytes of the texts of an order (serve.c). The system accepts less in arguments and variables.
  private static let maximumBytes = 16 << 20

  init(helper: String) { self.helper = helper }

  deinit { state.withLock { Self.end($0.take()) } }

  /// Starts a process. Its process group exists, and it is in its control group, when this returns. The program itself
  /// begins afterwards; a `StartReport` says if it did not.
  /// - Throws: `SystemError` if there is no process. With the code `.noStarter` there is no `baton-exec` that serves.
  func start(_ order: StartOrder) throws(SystemError) -> Int32 {
    var texts: [UInt8] = []
    for text in order.texts {
      texts += text.utf8
      texts.append(0)
    }
    guard texts.count <= Self.maximumBytes else { throw StartReport.failure(starting: E2BIG) }
    // A starter that has died is found out when it does not answer.
    for isLast in [false, true] {
      let answer = try state.withLock { state throws(SystemError) -> baton_answer? in
        let connection: Connection
        if let state { connection = state } else { connection = try connect() }
        state = connection
        var answer: baton_answer?
        _ = ChildTable.start {
          answer = Self.ask(connection, order, texts)
          return answer.flatMap { $0.process > 0 ? $0.process : nil }
        }
        if answer == nil { Self.end(state.take()) }
        return answer
      }
      if let answer, answer.process > 0 { return answer.process }
      if let answer { throw failure("cannot start a process", answer.code) }
      if isLast { break }
    }
    throw SystemError(.failed, "\(helper) gives no answer")
  }

  private static func ask(_ connection: Connection, _ order: StartOrder, _ texts: [UInt8]) -> baton_answer? {
    var (parts, answer) = (order.parts(bytes: texts.count), baton_answer())
    let descriptors = order.descriptors.map(\.file.descriptor) + (order.group.map { [$0.descriptor] } ?? [])
    guard baton_send_order(connection.socket.descriptor, &parts, descriptors, texts, UInt(texts.count)) == 0,
      baton_receive_answer(connection.socket.descriptor, &answer) == 0
    else { return nil }
    return answer
  }

  private func connect() throws(SystemError) -> Connection {
    var ends: (Int32, Int32) = (0, 0)
    let code = baton_socket_pair(&ends.0, &ends.1, Self.patience)
    guard code == 0 else { throw failure("cannot make a socket", code) }
    let (own, theirs) = (OpenFile(ends.0), OpenFile(ends.1))
    let null = OpenFile(open("/dev/null", O_RDWR | O_CLOEXEC))
    let started: Int32?
    do throws(SystemError) {
      started = try ChildTable.start { () throws(SystemError) -> Int32? in
        try SystemCall.spawn(
          helper, [Fence.helperName, "--serve"], [:], in: "/",
          [(theirs, 0), (null, 1), (null, 2)].map { PassedDescriptor($0, as: $1) })
      }
    } catch {
      throw SystemError(.noStarter, "cannot start \(helper): \(error)", cause: error.cause)
    }
    guard let started else { preconditionFailure("a start without an error has made no process") }
    let connection = Connection(pid: started, socket: own)
    theirs.close()
    var greeting = baton_answer()
    guard baton_receive_answer(own.descriptor, &greeting) == 0, greeting.code == Self.version else {
      Self.end(connection)
      throw SystemError(.noStarter, "\(helper) is not the \(Fence.helperName) of this version")
    }
    return connection
  }

  private static func end(_ connection: Connection?) {
    guard let connection else { return }
    kill(connection.pid, SIGKILL)
    connection.socket.close()
    var information = siginfo_t()
    while waitid(P_PID, id_t(connection.pid), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    _ = ChildTable.reap(connection.pid)
  }

  private func failure(_ doing: String, _ code: Int32) -> SystemError {
    SystemError(.failed, "\(doing): \(SystemCall.explanation(of: code))", cause: code)
  }
}

/// What the starter is asked for.
struct StartOrder: Sendable {
  var directory: String
  /// The words of `baton-exec`, from its first option on.
  var words: [String]
  var environment: [String: String]
  /// The standard streams, and what else the process gets.
  var descriptors: [PassedDescriptor]
  /// The number of the descriptor for a `StartReport`.
  var report: Int32
  /// The nice value; `nil` leaves it as it is.
  var niceness: Int32?
  /// The folder of the control group for the process.
  var group: OpenFile?

  /// In the order in which serve.c reads them.
  var texts: [String] { [directory] + words + environment.map { "\($0)=\($1)" } }

  func parts(bytes: Int) -> baton_order {
    var order = baton_order()
    (order.bytes, order.words, order.variables) = (UInt32(bytes), UInt32(words.count), UInt32(environment.count))
    order.descriptors = UInt32(descriptors.count + (group == nil ? 0 : 1))
    (order.niceness, order.report, order.has_group) = (niceness ?? .min, report, group == nil ? 0 : 1)
    withUnsafeMutableBytes(of: &order.numbers) { bytes in
      let numbers = bytes.bindMemory(to: Int32.self)
      for (index, descriptor) in descriptors.enumerated() { numbers[index] = descriptor.number }
    }
    return order
  }
}

extension SystemCall {
  /// Starts a program in a process group of its own. It gets exactly these variables and descriptors.
  /// - Throws: `SystemError`; the code says why the program cannot be run.
  static func spawn(
    _ program: String, _ arguments: [String], _ environment: [String: String], in directory: String,
    _ descriptors: [PassedDescriptor], niceness: Int32? = nil
  ) throws(SystemError) -> Int32 {
    var pid: Int32 = 0
    let code = withCStrings(arguments) { arguments in
      withCStrings(environment.map { "\($0)=\($1)" }) { environment in
        baton_spawn(
          program, arguments, environment, directory, descriptors.map(\.file.descriptor), descriptors.map(\.number),
          Int32(descriptors.count), niceness ?? .min, &pid)
      }
    }
    if code == 0 { return pid }
    // posix_spawn(3) does not say which step failed.
    guard isFolder(directory), access(directory, X_OK) == 0 else {
      throw SystemError(.directoryNotEntered, explanation(of: code), cause: code)
    }
    throw StartReport.failure(starting: code)
  }

  /// Calls `body` with the texts as a list that ends with a null pointer.
  private static func withCStrings<Result>(
    _ texts: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
  ) -> Result {
    let list = texts.map { strdup($0) } + [nil]
    defer { for text in list { free(text) } }
    return list.withUnsafeBufferPointer { body($0.baseAddress!) }
  }
}
