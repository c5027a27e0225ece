package import BatonModel
package import GRPCNIOTransportHTTP2Posix
package import Logging
package import NIOCore
import Synchronization

/// The admission of a listener: an `Admission` with the channels that it decides about.
package final class Door: Sendable {
  private struct State {
    var admission: Admission
    var next: Admission.ID = 0
    var channels: [Admission.ID: any Channel] = [:]
    /// By the name of the peer, as gRPC has it in a call's context.
    var ids: [String: Admission.ID] = [:]

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

  /// - Parameter what: names the listener in the log.
  package init(
    _ limits: Admission.Limits, what: String, logger: Logger,
    now: @escaping @Sendable () -> Instant = { SystemClocks.instant() }
  ) {
    state = Mutex(State(admission: Admission(limits)))
    patience = limits.patience
    (self.what, self.logger, self.now) = (what, logger, now)
  }

  package var count: Int { state.withLock { $0.admission.count } }

  /// To be called with each connection that was accepted, on its event loop, before it reads.
  package func accept(_ channel: any Channel) throws {
    try channel.pipeline.syncOperations.addHandler(DoorHandler(self, readsRequests: false), position: .first)
  }

  /// For the pipeline of an HTTP server, behind its decoder: a request that reaches the handler counts as served.
  package func requestHandler() -> any RemovableChannelHandler { DoorHandler(self, readsRequests: true) }

  // MARK: Facts

  /// Nil if the connection is not taken.
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
      "connections to \(what) that showed no token were closed or not taken; some program opens too many, or is silent",
      metadata: ["connections": "\(count)"])
  }

  fileprivate func closed(_ id: Admission.ID, _ peer: String?) {
    state.withLock { state in
      state.admission.closed(id)
      _ = state.forget(id, peer)
    }
  }

  fileprivate func served(_ id: Admission.ID) { state.withLock { $0.admission.served(id) } }

  /// Whether the connection is to be closed now.
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

  // MARK: What calls say

  /// The client of this connection was asked for `code`.
  /// - Parameter peer: as a call's context names it.
  package func challenged(_ peer: String, expecting code: [UInt8]) {
    state.withLock { state in
      guard let id = state.ids[peer] else { return }
      state.admission.challenged(id, expecting: code)
    }
  }

  /// What a client of this connection has to answer; nil if it was not asked.
  package func expectedCode(_ peer: String) -> [UInt8]? {
    state.withLock { state in state.ids[peer].flatMap { state.admission.expectedCode($0) } }
  }

  /// A call of this connection showed the token.
  package func proven(_ peer: String) {
    state.withLock { state in
      guard let id = state.ids[peer] else { return }
      state.admission.proven(id)
    }
  }
}

/// Tells the door of a connection, and closes the connection when the door says so.
private final class DoorHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = Any
  typealias InboundOut = Any

  private let door: Door
  /// What is read here is a request, rather than bytes.
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

  /// As gRPC names the peer in a call's context; nil for a Unix socket, whose peers have no name.
  fileprivate var peerName: String? {
    switch remoteAddress {
    case .v4(let address): "ipv4:\(address.host):\(remoteAddress?.port ?? 0)"
    case .v6(let address): "ipv6:[\(address.host)]:\(remoteAddress?.port ?? 0)"
    case .unixDomainSocket, nil: nil
    }
  }
}

extension HTTP2ServerTransport.Posix.Config {
  /// Connections that may wait to be accepted: workers come back together. The kernel may take fewer
  /// (net.core.somaxconn).
  private static let backlog: Int32 = 4096

  /// Every connection goes through `door`. Nothing in the transport closes one that is silent.
  package mutating func admit(through door: Door) {
    channelDebuggingCallbacks.onBindTCPListener = { $0.setOption(ChannelOptions.backlog, value: Self.backlog) }
    channelDebuggingCallbacks.onAcceptTCPConnection = { channel in
      channel.eventLoop.makeCompletedFuture { try door.accept(channel) }
    }
  }
}
