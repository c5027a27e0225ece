import BatonBase
import BatonModel
import BatonStore
import BatonTelemetry
package import BatonWire
import Logging
import Synchronization

/// Serving workers: the admission of a connection, and its two loops. One loop tells the core what the worker says;
/// the other carries out the core's orders for the connection. They are separate so that heartbeats never wait for the
/// disk.
extension Coordinator {
  /// Serves one worker until either side closes the connection.
  /// - Parameter address: the address of the worker, for messages.
  package func serve(_ connection: Connection, from address: String) async throws {
    defer { connection.close() }
    let limit = settings.workers
    guard state.withLock({ $0.streams.open(atMost: limit) }) else { return refuse(connection, from: address) }
    var host: HostName?
    defer { state.withLock { $0.streams.close(of: host) } }
    guard var first = await connection.up.receive(), !first.isEmpty else { return }
    let hello: Hello
    do throws(WireError) {
      guard case .hello(let said) = try first.removeFirst().heldToLimits() else {
        throw WireError("the first message of a worker is its hello")
      }
      hello = said
    } catch {
      return refuse(connection, from: address, .nonsense, because: error.message, isFinal: true)
    }
    guard state.withLock({ $0.streams.claim(hello.host, atMost: limit) }) else {
      return refuse(connection, from: address)
    }
    host = hello.host
    let link = Link(connection: connection, orders: Mailbox(capacity: Connection.capacity))
    guard let id = state.withLock({ $0.isAccepting ? $0.open(link) : nil }) else { return }
    defer { decide { $0.core.abandoned(id, at: now()) } }
    let proof = proof(of: hello)
    decide { $0.core.hello(hello, proof, from: address, as: id, at: now()) }
    let rest = first
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.receive(rest, from: hello.host, as: id, connection) }
      group.addTask { await self.carryOutAll(link) }
      await group.waitForAll()
    }
  }

  /// Refuses the worker because too many workers are connected. The worker may try again, because another worker may
  /// have left by then.
  private func refuse(_ connection: Connection, from address: String) {
    let text = "\(settings.workers) workers are connected, and no more are taken; those that leave make room"
    refuse(connection, from: address, .tooMany, because: text)
  }

  /// Tells the worker the reason and ends the connection. The log reports the refusal once, and again each minute.
  private func refuse(
    _ connection: Connection, from address: String, _ kind: RefusalLog.Kind, of host: HostName? = nil,
    because text: String, isFinal: Bool = false
  ) {
    log(refusal: text, kind, of: host, at: address)
    connection.down.send(.refused(text, isFinal: isFinal))
  }

  func log(refusal text: String, _ kind: RefusalLog.Kind, of host: HostName?, at address: String) {
    let now = clocks.now().instant
    guard state.withLock({ $0.refusals.isNews(kind, of: host, at: now) }) else { return }
    var metadata: Logger.Metadata = ["address": "\(address)", "why": "\(text)"]
    if let host { metadata[Names.LogKey.host] = "\(host)" }
    logger.warning("a worker was refused", metadata: metadata)
  }

  // MARK: Receiving

  private func receive(
    _ first: [WorkerMessage], from host: HostName, as id: SessionID, _ connection: Connection
  ) async {
    var messages = first
    do {
      while true {
        try take(messages, from: id)
        guard let next = await connection.up.receive() else { break }
        messages = next
      }
    } catch let error as WireError {
      refuse(connection, from: "", .nonsense, of: host, because: error.message)
    } catch {
      preconditionFailure("a worker's message was refused with \(error)")
    }
    connection.close()
    decide { $0.core.closed(id, at: now()) }
  }

  /// Not inlined: its temporary values, 18 KB, would otherwise stay allocated in the task of each waiting connection.
  @inline(never)
  private func take(_ messages: [WorkerMessage], from id: SessionID) throws {
    let messages = try messages.map { try $0.heldToLimits() }
    for case .transfers(let report) in messages { note(report, from: id) }
    decide { $0.core.received(messages, from: id, at: now()) }
  }
}

extension Coordinator.State {
  fileprivate mutating func open(_ link: Coordinator.Link) -> SessionID {
    lastSession += 1
    let id = SessionID(lastSession)
    links[id] = link
    return id
  }
}
