import BatonBase
import BatonCoordinator
import BatonModel
import BatonWire

/// The worker's end of a connection without a worker: it sends exactly the messages that a test wants.
final class FakeWorker: Sendable {
  let connection = Connection()
  let hello: Hello

  init(_ host: String, _ incarnation: String? = nil, change: (inout Hello) -> Void = { _ in }) {
    var hello = Hello(
      host: HostName(host), incarnation: Incarnation(incarnation ?? host + "-1"), version: "1",
      capabilities: Capabilities(slots: 4), conditions: .assumed)
    change(&hello)
    self.hello = hello
  }

  /// Says hello, and serves the connection in `group` until either side closes it.
  func connect(to coordinator: Coordinator, in group: inout ThrowingTaskGroup<Void, any Error>) {
    group.addTask { [connection] in try await coordinator.serve(connection, from: "127.0.0.1:9") }
    say(.hello(hello))
  }

  func say(_ messages: WorkerMessage...) { connection.up.send(contentsOf: messages) }

  /// All messages up to the first for which `isLast` holds; `nil` if the connection ends before it.
  @discardableResult
  func hears(until isLast: (CoordinatorMessage) -> Bool) async -> [CoordinatorMessage]? {
    var heard: [CoordinatorMessage] = []
    while let messages = await connection.down.receive() {
      heard += messages
      if messages.contains(where: isLast) { return heard }
    }
    return nil
  }

  /// The answer to the hello; `nil` if the connection ends without an answer.
  func welcome() async -> CoordinatorMessage? {
    await hears { if $0.isWelcome || $0.isRefusal { true } else { false } }?.first { $0.isWelcome || $0.isRefusal }
  }

  /// The next launch that the coordinator assigns to it.
  func assignment() async -> Assignment? {
    await hears { $0.assignment != nil }?.compactMap(\.assignment).first
  }

  func close() { connection.close() }
}

extension CoordinatorMessage {
  var isWelcome: Bool { if case .welcome = self { true } else { false } }
  var isRefusal: Bool { if case .refused = self { true } else { false } }
  var assignment: Assignment? { if case .launch(let assignment) = self { assignment } else { nil } }

  var receipt: Receipt? { if case .receipt(let receipt) = self { receipt } else { nil } }

  func withdraws(_ launch: LaunchKey) -> Bool { if case .withdraw(launch, _) = self { true } else { false } }
}
