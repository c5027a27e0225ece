import Foundation

/// A listening socket on loopback, and connections to one.
enum Loopback {
  /// - Returns: the listening socket and its port.
  static func listening() throws -> (socket: Int32, port: UInt16) {
    let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = address(port: 0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    try withUnsafeMutablePointer(to: &address) { pointer in
      try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
        guard bind(server, name, length) == 0, listen(server, 256) == 0, getsockname(server, name, &length) == 0
        else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
      }
    }
    return (server, UInt16(bigEndian: address.sin_port))
  }

  static func connection(port: UInt16) throws -> Int32 {
    let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = address(port: port)
    try withUnsafePointer(to: &address) { pointer in
      try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
        guard connect(client, name, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0 else {
          throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
      }
    }
    sendAtOnce(client)
    return client
  }

  /// Lets a socket send small pieces without waiting for an acknowledgement of the last one.
  static func sendAtOnce(_ socket: Int32) {
    var on: Int32 = 1
    setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
  }

  private static func address(port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    address.sin_port = port.bigEndian
    return address
  }
}

/// The server of B22: a process of its own, with a thread for each connection that writes from memory. It is no
/// bottleneck: what it can do alone is measured with `fetchSmall`.
enum FileServing {
  static let smallBytes = 10_000
  private static let piece = (0..<(1 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }

  /// Serves `/large` with so many MiB, and every other path with `smallBytes` bytes after a thought, until the process
  /// is killed.
  /// - Parameter thought: in milliseconds.
  static func serve(megabytes: Int, thought: Int) throws {
    signal(SIGPIPE, SIG_IGN)
    let (server, port) = try Loopback.listening()
    say("http://127.0.0.1:\(port)")
    while true {
      let connection = accept(server, nil, nil)
      guard connection >= 0 else { continue }
      Loopback.sendAtOnce(connection)
      Thread { serve(connection, megabytes: megabytes, thought: thought) }.start()
    }
  }

  private static func serve(_ connection: Int32, megabytes: Int, thought: Int) {
    defer { close(connection) }
    let (largeHead, smallHead) = (head(megabytes << 20), head(smallBytes))
    var (buffer, asked) = ([UInt8](repeating: 0, count: 1 << 16), [UInt8]())
    while true {
      let count = read(connection, &buffer, buffer.count)
      guard count > 0 else { return }
      asked += buffer[..<count]
      guard asked.suffix(4) == [13, 10, 13, 10] else { continue }
      let isLarge = asked.starts(with: Array("GET /large ".utf8))
      asked = []
      if !isLarge { usleep(UInt32(thought * 1000)) }
      guard send(isLarge ? largeHead : smallHead + piece[..<smallBytes], on: connection) else { return }
      for _ in 0..<(isLarge ? megabytes : 0) where !send(piece, on: connection) { return }
    }
  }

  private static func head(_ length: Int) -> [UInt8] {
    Array("HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\nETag: \"1\"\r\n\r\n".utf8)
  }

  private static func send(_ bytes: [UInt8], on connection: Int32) -> Bool {
    bytes.withUnsafeBytes { bytes in
      var sent = 0
      while sent < bytes.count {
        let count = write(connection, bytes.baseAddress.map { $0 + sent }, bytes.count - sent)
        guard count > 0 else { return false }
        sent += count
      }
      return true
    }
  }

  /// Fetches small files on `connections` connections, and keeps none: what the server can do alone.
  /// - Returns: the seconds.
  static func fetchSmall(_ count: Int, port: UInt16, connections: Int) async throws -> Double {
    let start = Date()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<connections {
        let share = count / connections + (index < count % connections ? 1 : 0)
        group.addTask {
          try await withCheckedThrowingContinuation { continuation in
            Thread { continuation.resume(with: Result { try fetch(share, port) }) }.start()
          }
        }
      }
      try await group.waitForAll()
    }
    return -start.timeIntervalSinceNow
  }

  private static func fetch(_ count: Int, _ port: UInt16) throws {
    let connection = try Loopback.connection(port: port)
    defer { close(connection) }
    let (question, whole) = (
      Array("GET /small HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8), head(smallBytes).count + smallBytes
    )
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    for _ in 0..<count {
      guard send(question, on: connection) else { preconditionFailure("the server takes no request") }
      var left = whole
      while left > 0 {
        let length = read(connection, &buffer, buffer.count)
        guard length > 0 else { preconditionFailure("the server closed the connection") }
        left -= length
      }
    }
  }
}
