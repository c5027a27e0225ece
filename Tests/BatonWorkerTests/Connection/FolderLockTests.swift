import Foundation
import Testing

@testable import BatonWorker

/// `BATON_DATA` means the coordinator and the worker alike, so a worker looks before it moves in.
@Suite struct FolderLockTests {
  @Test(arguments: ["baton.sqlite", "authority.pem"])
  func `the data folder of a coordinator is refused, also if its store is on a server`(file: String) throws {
    let folder = NSTemporaryDirectory() + "baton-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FolderLock.refuseStore(in: folder)
    try Data().write(to: URL(fileURLWithPath: "\(folder)/\(file)"))
    let error = #expect(throws: WorkerError.self) { try FolderLock.refuseStore(in: folder) }
    #expect(error.map { "\($0)" }?.contains("BATON_DATA means both") == true)
  }
}
