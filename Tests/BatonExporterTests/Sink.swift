import Foundation
import NIOCore
import NIOPosix

/// A program of `.build/sink`, which `Scripts/setup-sink` makes.
struct Sink {
  let process = Process()
  private let input = Pipe()
  private let output = Pipe()

  struct Missing: Error, CustomStringConvertible {
    var program: String
    var description: String { "\(program) is not there; run Scripts/setup-sink" }
  }

  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(
    path: "../../.build/sink/bin"
  ).standardizedFileURL

  /// A test process blocks signals, which its children would then block, too. Whatever happens, a child lives for 40 s at
  /// most.
  private static let start = """
    import os, signal, sys
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    signal.alarm(40)
    os.execv(sys.argv[1], sys.argv[1:])
    """

  /// Starts it.
  init(_ program: String, _ arguments: [String]) throws {
    let (python, program) = (Self.folder.appending(path: "python3"), Self.folder.appending(path: program))
    for url in [python, program] where !FileManager.default.isExecutableFile(atPath: url.path) {
      throw Missing(program: url.path)
    }
    (process.executableURL, process.arguments) = (python, ["-c", Self.start, program.path] + arguments)
    (process.standardInput, process.standardOutput, process.standardError) = (input, output, output)
    try process.run()
  }

  /// Hands it `text`, and waits for everything that it prints until its end.
  func finish(_ text: String = "") throws -> String {
    try input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
    try input.fileHandleForWriting.close()
    let printed = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return String(decoding: printed, as: UTF8.self)
  }

  /// A port of the loopback that nobody listens on. Somebody might from now on; the kernel does not give a port again soon.
  static func freePort() async throws -> Int {
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton).bind(
      host: "127.0.0.1", port: 0
    ).get()
    let port = channel.localAddress?.port
    try await channel.close()
    return port ?? 0
  }
}
