import Foundation
import Synchronization

/// A web server of a test on a free port of loopback. It serves bytes by their paths, with ranges, and can hold an
/// answer back until the test releases it.
final class FileServer: Sendable {
  private struct State {
    var files: [String: [UInt8]] = [:]
    /// The paths whose answers stop after so many bytes of the body.
    var held: [String: Int] = [:]
    /// The first lines of all requests, with their ranges.
    var requests: [String] = []
    var isStopped = false
  }

  let port: Int
  private let listener: Int32
  private let state = Mutex(State())

  init() throws {
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let listener = listener
    port = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bound in
        guard bind(listener, bound, length) == 0, listen(listener, 64) == 0, getsockname(listener, bound, &length) == 0
        else { return 0 }
        return Int(pointer.pointee.sin_port.byteSwapped)
      }
    }
    guard port > 0 else { throw CocoaError(.featureUnsupported) }
    Thread { [weak self] in
      while true {
        let connection = accept(listener, nil, nil)
        guard connection >= 0 else { return }
        guard let self else {
          _ = close(connection)
          return
        }
        Thread { self.serve(connection) }.start()
      }
    }.start()
  }

  func stop() {
    state.withLock { state in
      state.isStopped = true
      state.held = [:]
    }
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
  }

  func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }
  var requests: [String] { state.withLock { $0.requests } }

  func serve(_ bytes: [UInt8], at path: String) { state.withLock { $0.files[path] = bytes } }
  /// From now on answers for the path stop after so many bytes of the whole file.
  func hold(_ path: String, after bytes: Int) { state.withLock { $0.held[path] = bytes } }
  func release(_ path: String) { state.withLock { $0.held[path] = nil } }

  private func serve(_ connection: Int32) {
    defer { close(connection) }
    while let request = head(connection) {
      let words = request[0].split(separator: " ").map(String.init)
      guard words.count == 3 else { return }
      let range = request.first { $0.lowercased().hasPrefix("range: bytes=") }
        .flatMap { Int($0.dropFirst("range: bytes=".count).prefix { $0.isNumber }) }
      state.withLock { $0.requests.append(words[1] + (range.map { " from \($0)" } ?? "")) }
      guard answer(words[1], from: range, on: connection) else { return }
    }
  }

  private func answer(_ path: String, from range: Int?, on connection: Int32) -> Bool {
    guard let file = state.withLock({ $0.files[path] }) else {
      return send("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".utf8.map { $0 }, connection)
    }
    let start = min(range ?? 0, file.count)
    let first = range == nil ? "200 OK" : "206 Partial Content"
    let part = range == nil ? "" : "Content-Range: bytes \(start)-\(file.count - 1)/\(file.count)\r\n"
    let head =
      "HTTP/1.1 \(first)\r\nETag: \"v1\"\r\nAccept-Ranges: bytes\r\n\(part)Content-Length: \(file.count - start)\r\n\r\n"
    guard send(Array(head.utf8), connection) else { return false }
    var sent = start
    while sent < file.count {
      let end = min(file.count, state.withLock { $0.held[path] } ?? file.count)
      if end <= sent {
        // The client may go away while the answer is held.
        var probe = pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
        if poll(&probe, 1, 20) > 0 { return false }
        if state.withLock({ $0.isStopped }) { return false }
        continue
      }
      guard send(Array(file[sent..<end]), connection) else { return false }
      sent = end
    }
    return true
  }

  private func send(_ bytes: [UInt8], _ connection: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  /// The lines of the head of a request; nil if the client has gone.
  private func head(_ connection: Int32) -> [String]? {
    var (bytes, byte) = ([UInt8](), UInt8(0))
    while bytes.suffix(4) != [13, 10, 13, 10] {
      guard bytes.count < 64 << 10, recv(connection, &byte, 1, 0) == 1 else { return nil }
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self).components(separatedBy: "\r\n").filter { !$0.isEmpty }
  }
}
