import BatonBase
import BatonModel
import BatonProcess
import Dispatch
import Synchronization

/// Checks that a target can be reached: it connects by TCP to the addresses of the target's name, over IPv4 or IPv6,
/// and closes the connection.
package final class TargetCheck: Sendable {
  private let settings: ReachabilitySettings
  private let isBusy = Mutex(false)

  package init(settings: ReachabilitySettings) { self.settings = settings }

  /// Returns within the patience of the settings plus 100 ms, even if the name look-up takes longer. The look-up then
  /// goes on, and until it ends each further call fails at once. A target that refuses the connection counts as
  /// reached, because the network leads there.
  package func ask() async -> ReachabilityAnswer {
    guard let (host, port) = ReachabilitySettings.parse(settings.target) else {
      return .failed("the target is not HOST:PORT")
    }
    guard
      isBusy.withLock({ isBusy in
        defer { isBusy = true }
        return !isBusy
      })
    else {
      return .failed("the previous name look-up has not ended yet")
    }
    let end = DispatchTime.now() + .nanoseconds(Int(clamping: settings.patience.nanoseconds))
    let answer = FirstAnswer<ReachabilityAnswer>()
    DispatchQueue(label: "baton.reachability").async { [self] in
      let found = Self.connect(host, port, until: end)
      isBusy.withLock { $0 = false }
      answer.give(found)
    }
    DispatchQueue.global().asyncAfter(deadline: end + .milliseconds(100)) { answer.give(.failed("no answer in time")) }
    return await answer.value
  }

  private static func connect(_ host: String, _ port: UInt16, until end: DispatchTime) -> ReachabilityAnswer {
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    hints.ai_flags = AI_NUMERICSERV
    #if canImport(Glibc)
      hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    #else
      hints.ai_socktype = SOCK_STREAM
    #endif
    var first: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(host, String(port), &hints, &first)
    guard code == 0 else { return .failed("\(host): \(String(cString: gai_strerror(code)))") }
    defer { freeaddrinfo(first) }
    var answer = ReachabilityAnswer.failed("no address")
    for address in sequence(first: first, next: { $0?.pointee.ai_next }) {
      guard let address, answer != .reached else { break }
      // Each address but the last gets half of the remaining time, so that an address that does not answer leaves time
      // for the next.
      let (now, isLast) = (DispatchTime.now(), address.pointee.ai_next == nil)
      let left = end.uptimeNanoseconds - min(end.uptimeNanoseconds, now.uptimeNanoseconds)
      answer = connect(address.pointee, until: isLast ? end : now + .nanoseconds(Int(left / 2)))
    }
    return answer
  }

  private static func connect(_ address: addrinfo, until end: DispatchTime) -> ReachabilityAnswer {
    let descriptor = socket(address.ai_family, address.ai_socktype | closedOnExec, address.ai_protocol)
    guard descriptor >= 0 else { return failure(errno) }
    defer { close(descriptor) }
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    if connectSocket(descriptor, address.ai_addr, address.ai_addrlen) == 0 { return .reached }
    guard errno == EINPROGRESS else { return failure(errno) }
    return wait(descriptor, until: end)
  }

  #if canImport(Glibc)
    private static let closedOnExec = Int32(SOCK_CLOEXEC.rawValue)
  #elseif canImport(Musl)
    private static let closedOnExec = SOCK_CLOEXEC
  #else
    private static let closedOnExec: Int32 = 0
  #endif

  private static func wait(_ descriptor: Int32, until end: DispatchTime) -> ReachabilityAnswer {
    var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    while true {
      let now = DispatchTime.now()
      guard now < end else { return .failed("no answer in time") }
      let milliseconds = Int32(clamping: (end.uptimeNanoseconds - now.uptimeNanoseconds) / 1_000_000 + 1)
      let count = poll(&entry, 1, milliseconds)
      if count < 0 && errno != EINTR { return failure(errno) }
      if count > 0 { return outcome(of: descriptor) }
    }
  }

  private static func outcome(of descriptor: Int32) -> ReachabilityAnswer {
    var code: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length) == 0 else { return failure(errno) }
    return code == 0 ? .reached : failure(code)
  }

  private static func failure(_ code: Int32) -> ReachabilityAnswer {
    code == ECONNREFUSED ? .reached : .failed(SystemCall.explanation(of: code))
  }
}

/// Calls connect(2), which the member function `connect` shadows within `TargetCheck`.
private func connectSocket(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>?, _ length: socklen_t) -> Int32 {
  connect(descriptor, address, length)
}
