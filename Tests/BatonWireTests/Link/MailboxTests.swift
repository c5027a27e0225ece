import BatonBase
import BatonWire
import Testing

@Suite(.timeLimit(.minutes(10))) struct MailboxTests {
  @Test func `everything that is there comes at once, in order`() async {
    let mailbox = Mailbox<Int>(capacity: 9)
    #expect(mailbox.send(1))
    #expect(mailbox.send(contentsOf: [2, 3]))
    #expect(mailbox.send(contentsOf: []))
    #expect(await mailbox.receive() == [1, 2, 3])
    #expect(mailbox.send(4))
    #expect(await mailbox.receive() == [4])
  }

  @Test func `what many send is read once each, and in the order of each sender`() async {
    let mailbox = Mailbox<[Int]>(capacity: 100_000)
    await withTaskGroup(of: Void.self) { group in
      for sender in 0..<8 {
        group.addTask { for number in 0..<1000 { mailbox.send([sender, number]) } }
      }
      var seen = Array(repeating: 0, count: 8)
      while seen.reduce(0, +) < 8000, let elements = await mailbox.receive() {
        for element in elements {
          #expect(element[1] == seen[element[0]])
          seen[element[0]] += 1
        }
      }
      #expect(seen == Array(repeating: 1000, count: 8))
    }
  }

  @Test func `one that is full closes, and what it took before can be read`() async {
    let mailbox = Mailbox<Int>(capacity: 3)
    #expect(mailbox.send(contentsOf: [1, 2, 3]))
    #expect(!mailbox.isClosed)
    #expect(!mailbox.send(4))
    #expect(mailbox.isClosed)
    #expect(await mailbox.receive() == [1, 2, 3])
    #expect(!mailbox.send(5), "room again, and still closed: a message between them is missing")
    #expect(await mailbox.receive() == nil)
  }

  @Test func `many at once are taken all or not at all`() async {
    let mailbox = Mailbox<Int>(capacity: 3)
    #expect(mailbox.send(1))
    #expect(!mailbox.send(contentsOf: [2, 3, 4]))
    #expect(await mailbox.receive() == [1])
    #expect(await mailbox.receive() == nil)
  }

  @Test func `reading makes room`() async {
    let mailbox = Mailbox<Int>(capacity: 2)
    for number in 0..<100 {
      #expect(mailbox.send(contentsOf: [number, number]))
      #expect(await mailbox.receive() == [number, number])
    }
  }

  @Test func `a closed one takes nothing more, and gives what is there`() async {
    let mailbox = Mailbox<Int>(capacity: 9)
    mailbox.send(1)
    mailbox.close()
    mailbox.close()
    #expect(!mailbox.send(2))
    #expect(await mailbox.receive() == [1])
    #expect(await mailbox.receive() == nil)
    #expect(await mailbox.receive() == nil)
  }

  /// The reader may or may not have begun to wait. In so many rounds, both cases occur.
  @Test(arguments: ["send", "close", "overflow", "cancel"])
  func `a reader that waits is woken`(how: String) async {
    for _ in 0..<500 {
      let mailbox = Mailbox<Int>(capacity: 1)
      let reader = Task { await mailbox.receive() }
      await Task.yield()
      switch how {
      case "send": mailbox.send(7)
      case "close": mailbox.close()
      case "overflow": mailbox.send(contentsOf: [1, 2])
      default: reader.cancel()
      }
      #expect(await reader.value == (how == "send" ? [7] : nil))
    }
  }

  @Test func `a cancelled reader leaves what is there to the next`() async {
    let mailbox = Mailbox<Int>(capacity: 9)
    mailbox.send(1)
    let reader = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await mailbox.receive()
    }
    #expect(await reader.value == nil)
    #expect(await mailbox.receive() == [1])
  }
}
