import BatonBase
package import BatonModel
package import GRPCNIOTransportHTTP2Posix
package import Logging
package import NIOCore
import Synchronization

/// Applies an `Admission` to the connections of one listener: it owns the channels that the admission decides about,
/// and closes those that have to go.
package final class Door: Sendable {
  private struct State {
    var admission: Admission
    var next: Admission.ID = 0
    var channels: [Admission.ID: any Channel] = [:]
    /// The ids of connections by the name of their peer, as the context of a gRPC call names it.
    var ids: [String: Admission.ID] = [:]

    /// Forgets a connection, and returns its channel if it was still known.
    mutating func forget(_ id: Admission.ID, _ peer: String?) -> (any Channel)? {
      if let peer, ids[peer] == id { ids[peer] = nil }
      return channels.removeValue(forKey: id)
    }
  }

  private let state: Mutex<State>
  private let patience: Duration
  private let now: @Sendable () -> Instant
  private let logger: Logger
  private let what: String

  /// - Parameter what: the name of the listener in the log.
  package init(
    _ limits: Admission.Limits, what: String, logger: Logger,
    now: @escaping @Sendable () -> Instant = { SystemClocks.instant() }
  ) {
    state = Mutex(State(admission: Admission(limits)))
    patience = limits.patience
    (self.what, self.logger, self.now) = (what, logger, now)
  }

  package var count: Int { state.withLock { $0.admission.count } }

  /// Adds the admission to a connection. Call it with each accepted connection, on the connection's event loop, before
  /// anything is read from it.
  package func accept(_ channel: any Channel) throws {
    try channel.pipeline.syncOperations.addHandler(DoorHandler(self, readsRequests: false), position: .first)
  }

  /// The handler for the pipeline of an HTTP server. It has to be placed after the decoder: a request that reaches it
  /// counts as served.
  package func requestHandler() -> any RemovableChannelHandler { DoorHandler(self, readsRequests: true) }

  // MARK: Facts

  /// Decides about a new connection, and closes the connection that it replaces. Returns `nil` if the new connection is
  /// refused.
  fileprivate func opened(_ channel: any Channel) -> Admission.ID? {
    let (origin, peer) = (channel.origin, channel.peerName)
    let (id, victim, report) = state.withLock { state -> (Admission.ID?, (any Channel)?, Int?) in
      let id = state.next
      state.next += 1
      let instant = now()
      let verdict = state.admission.opened(id, from: origin, at: instant)
      let report = state.admission.report(at: instant)
      if case .refuse = verdict { return (nil, nil, report) }
      state.channels[id] = channel
      if let peer { state.ids[peer] = id }
      guard case .admitInPlaceOf(let other) = verdict else { return (id, nil, report) }
      return (id, state.channels.removeValue(forKey: other), report)
    }
    victim?.close(promise: nil)
    if let report { tell(report) }
    return id
  }

  private func tell(_ count: Int) {
    logger.warning(
      """
      connections to \(what) without a token were closed or refused: some program opens too many connections, or sends \
      nothing on them
      """,
      metadata: ["connections": "\(count)"])
  }

  fileprivate func closed(_ id: Admission.ID, _ peer: String?) {
    state.withLock { state in
      state.admission.closed(id)
      _ = state.forget(id, peer)
    }
  }

  fileprivate func served(_ id: Admission.ID) { state.withLock { $0.admission.served(id) } }

  /// Whether the connection has to be closed now, because nothing was served over it until its deadline.
  fileprivate func isOverdue(_ id: Admission.ID, _ peer: String?) -> Bool {
    let (isOverdue, report) = state.withLock { state in
      let instant = now()
      guard state.admission.isOverdue(id, at: instant) else { return (false, nil as Int?) }
      _ = state.forget(id, peer)
      return (true, state.admission.report(at: instant))
    }
    if let report { tell(report) }
    return isOverdue
  }

  fileprivate var deadline: TimeAmount { TimeAmount(patience) }

  /// Closes a connection in a second, because its peer proves nothing any more. The second is for the answer that says
  /// so.
  package func dismiss(_ peer: String) {
    guard let channel = state.withLock({ state in state.ids[peer].flatMap { state.channels[$0] } }) else { return }
    channel.eventLoop.scheduleTask(in: .seconds(1)) { channel.close(promise: nil) }
  }

  // MARK: What calls say

  /// Notes that a call on this connection has shown the token.
  package func proven(_ peer: String) {
    state.withLock { state in
      guard let id = state.ids[peer] else { return }
      state.admission.proven(id)
    }
  }
}

/// Reports a connection's events to the door, and closes the connection when the door asks for it.
private final class DoorHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = Any
  typealias InboundOut = Any

  private let door: Door
  /// Whether the handler reads whole requests, and not bytes.
  private let readsRequests: Bool
  private var id: Admission.ID?
  private var peer: String?
  private var isKnown = false
  private var isServed = false
  private var timer: Scheduled<Void>?

  init(_ door: Door, readsRequests: Bool) { (self.door, self.readsRequests) = (door, readsRequests) }

  func handlerAdded(context: ChannelHandlerContext) {
    if context.channel.isActive { opened(context) }
  }

  func channelActive(context: ChannelHandlerContext) {
    opened(context)
    context.fireChannelActive()
  }

  private func opened(_ context: ChannelHandlerContext) {
    guard !isKnown else { return }
    isKnown = true
    let channel = context.channel
    peer = channel.peerName
    id = door.opened(channel)
    guard let id else { return context.close(promise: nil) }
    timer = context.eventLoop.scheduleTask(in: door.deadline) { [door, peer] in
      if door.isOverdue(id, peer) { channel.close(promise: nil) }
    }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if readsRequests, !isServed, let id {
      isServed = true
      door.served(id)
    }
    context.fireChannelRead(data)
  }

  func channelInactive(context: ChannelHandlerContext) {
    timer?.cancel()
    if let id { door.closed(id, peer) }
    id = nil
    context.fireChannelInactive()
  }
}

extension Channel {
  fileprivate var origin: Admission.Origin {
    for case .unixDomainSocket in [localAddress, remoteAddress] { return .owner }
    return .address(remoteAddress?.ipAddress ?? "")
  }

  /// The name of the peer as gRPC writes it in a call's context; `nil` for a Unix socket, whose peers have no name.
  package var peerName: String? {
    switch remoteAddress {
    case .v4(let address): "ipv4:\(address.host):\(remoteAddress?.port ?? 0)"
    case .v6(let address): "ipv6:[\(address.host)]:\(remoteAddress?.port ?? 0)"
    case .unixDomainSocket, nil: nil
    }
  }
}

extension HTTP2ServerTransport.Posix.Config {
  /// The number of connections that may wait to be accepted, because workers may all reconnect at the same time. The
  /// kernel may allow fewer (net.core.somaxconn).
  private static let backlog: Int32 = 4096

  /// Passes each accepted connection to `door`. The transport itself does not close a silent connection.
  /// - Parameter refused: is called on the event loop with the name of the peer when TLS refuses the certificate of a
  ///   client, or when the client shows none.
  package mutating func admit(through door: Door, refused: (@Sendable (_ peer: String) -> Void)? = nil) {
    channelDebuggingCallbacks.onBindTCPListener = { $0.setOption(ChannelOptions.backlog, value: Self.backlog) }
    channelDebuggingCallbacks.onAcceptTCPConnection = { channel in
      channel.eventLoop.makeCompletedFuture {
        try door.accept(channel)
        try channel.easeTLS()
        if let refused { try channel.watchHandshake(refused) }
      }
    }
  }
}
